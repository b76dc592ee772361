/** Parses PostgreSQL addresses. Error messages never contain any part of a password. */

const FORM = 'a PostgreSQL address has the form postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE'
const ESCAPES = 'write / as %2F, ? as %3F, # as %23 and @ as %40 in a password'
const PARTS = /^(postgres(?:ql)?:\/\/)([^@/?]*@)?([^/?]*)([^?]*)(.*)$/

/** Follows the client, which also accepts an address without a host. */
const isParsable = (address: string): boolean =>
  URL.canParse(address) || URL.canParse(address.replace('@/', '@localhost/'))

/** `postgres://user@one:5432,two:5433/name` names one database that any of these hosts may serve. */
export function addressesOf(url: string): readonly string[] {
  const parts = PARTS.exec(url)
  if (parts === null) throw new Error(FORM)
  const [, scheme, user, hosts, database, options] = parts
  // An unescaped character would turn a part of the password into host and port, which appear in messages.
  const isAmbiguous =
    user === undefined ? `${database}${options}`.includes('@') : /#/.test(user) || database!.includes('@')
  if (isAmbiguous) throw new Error(`${FORM}; ${ESCAPES}`)
  const addresses = hosts!.split(',').map(host => `${scheme}${user ?? ''}${host}${database}${options}`)
  if (!addresses.every(isParsable)) throw new Error(FORM)
  return addresses
}
