/** What an address of PostgreSQL names. Nothing that is said about it may hold its password. */

const FORM = 'an address of PostgreSQL is postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE'
const PARTS = /^(postgres(?:ql)?:\/\/)([^@/?]*@)?([^/?]*)([^?]*)(.*)$/

/** By the rules of the client, which takes a name without a host, too. */
const isReadable = (address: string): boolean =>
  URL.canParse(address) || URL.canParse(address.replace('@/', '@localhost/'))

/** `postgres://user@one:5432,two:5433/name` names one database that any of these hosts may serve at the moment. */
export function addressesOf(url: string): readonly string[] {
  const parts = PARTS.exec(url)
  if (parts === null) throw new Error(FORM)
  const [, scheme, user, hosts, database, options] = parts
  // A slash in the password would make a host of what stands before it.
  if (database!.includes('@')) throw new Error(`${FORM}; write / as %2F and @ as %40 in a password`)
  const addresses = hosts!.split(',').map(host => `${scheme}${user ?? ''}${host}${database}${options}`)
  if (!addresses.every(isReadable)) throw new Error(FORM)
  return addresses
}
