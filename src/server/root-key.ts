/** The root account's key from the environment, and which secrets are too weak for an address that others reach. */
import { BadConfig } from './bad-config.ts'
import { secretFrom } from './config-secrets.ts'

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** Where the server is reached. */
interface Addresses {
  readonly listen: HostAndPort
  readonly console: HostAndPort | undefined
}

export interface RootCredentials {
  readonly accessKey: string
  readonly secretKey: string
}

/** Defaults of other servers and first guesses: whoever scans a network tries them. */
const WELL_KNOWN = new Set(['admin', 'changeme', 'minioadmin', 'password', 'rustfsadmin'])
const SECRET_CHARACTERS_MIN = 8

const isLoopback = ({ host }: HostAndPort): boolean =>
  host === 'localhost' || host === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(host)

/** Somebody beyond this machine may reach the server. */
export const isReachableFromOutside = ({ listen, console }: Addresses): boolean =>
  !isLoopback(listen) || (console !== undefined && !isLoopback(console))

/** Undefined for one that will do. */
export function weakness({ accessKey, secretKey }: RootCredentials): string | undefined {
  if (WELL_KNOWN.has(secretKey.toLowerCase())) return 'is one that everybody knows'
  if (secretKey.length < SECRET_CHARACTERS_MIN) return `has fewer than ${SECRET_CHARACTERS_MIN} characters`
  return secretKey === accessKey ? 'is the same as the access key' : undefined
}

/** A slash ends a key where it stands in a signature, and a comma ends both. */
const SIGNABLE_KEY = /^[!-+\-.0-~]{1,128}$/

export function rootKeyFrom(env: NodeJS.ProcessEnv, listening: Addresses): RootCredentials | undefined {
  const accessKey = secretFrom(env, 'HOLDFAST_ROOT_ACCESS_KEY')
  const secretKey = secretFrom(env, 'HOLDFAST_ROOT_SECRET_KEY')
  if (accessKey === undefined && secretKey === undefined) return undefined
  if (accessKey === undefined || secretKey === undefined) {
    throw new BadConfig('HOLDFAST_ROOT_ACCESS_KEY and HOLDFAST_ROOT_SECRET_KEY go together')
  }
  const weak = isReachableFromOutside(listening) ? weakness({ accessKey, secretKey }) : undefined
  if (weak !== undefined) throw new BadConfig(`HOLDFAST_ROOT_SECRET_KEY ${weak}: others can reach this address`)
  if (!SIGNABLE_KEY.test(accessKey)) {
    throw new BadConfig('HOLDFAST_ROOT_ACCESS_KEY is 1 to 128 visible ASCII characters, without comma and slash')
  }
  if (!/^[^\p{Cc}]{1,256}$/u.test(secretKey)) {
    throw new BadConfig('HOLDFAST_ROOT_SECRET_KEY is 1 to 256 characters without control characters')
  }
  return { accessKey, secretKey }
}
