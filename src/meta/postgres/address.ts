/** What an address of PostgreSQL names. Nothing that is said about it may hold its password. */

const FORM = 'an address of PostgreSQL is postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE'
const ESCAPES = 'write / as %2F, ? as %3F, # as %23 and @ as %40 in a password'
const PARTS = /^(postgres(?:ql)?:\/\/)([^@/?]*@)?([^/?]*)([^?]*)(.*)$/

/** By the rules of the client, which takes a name without a host, too. */
const isReadable = (address: string): boolean =>
  URL.canParse(address) || URL.canParse(address.replace('@/', '@localhost/'))

/** `postgres://user@one:5432,two:5433/name` names one database that any of these hosts may serve at the moment. */
export function addressesOf(url: string): readonly string[] {
  const parts = PARTS.exec(url)
  if (parts === null) throw new Error(FORM)
  const [, scheme, user, hosts, database, options] = parts
  // One of these in the password would make host and port of what stands before it, and those are told.
  const isCut = user === undefined ? `${database}${options}`.includes('@') : /#/.test(user) || database!.includes('@')
  if (isCut) throw new Error(`${FORM}; ${ESCAPES}`)
  const addresses = hosts!.split(',').map(host => `${scheme}${user ?? ''}${host}${database}${options}`)
  if (!addresses.every(isReadable)) throw new Error(FORM)
  return addresses
}
