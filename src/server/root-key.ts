/** The root account's key from the environment, and the check for secrets too weak for a public address. */
import { BadConfig } from './bad-config.ts'
import { secretFrom } from './config-secrets.ts'

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** The addresses of the server. */
interface Addresses {
  readonly listen: HostAndPort
  readonly console: HostAndPort | undefined
}

export interface RootCredentials {
  readonly accessKey: string
  readonly secretKey: string
}

/** Defaults of other servers and common guesses, which network scanners try. */
const WELL_KNOWN = new Set(['admin', 'changeme', 'minioadmin', 'password', 'rustfsadmin'])
const SECRET_CHARACTERS_MIN = 8

const isLoopback = ({ host }: HostAndPort): boolean =>
  host === 'localhost' || host === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(host)

/** Whether the server may be reached from other machines. */
export const isReachableFromOutside = ({ listen, console }: Addresses): boolean =>
  !isLoopback(listen) || (console !== undefined && !isLoopback(console))

/** Undefined for an acceptable key. */
export function weakness({ accessKey, secretKey }: RootCredentials): string | undefined {
  if (WELL_KNOWN.has(secretKey.toLowerCase())) return 'is a well-known default'
  if (secretKey.length < SECRET_CHARACTERS_MIN) return `has fewer than ${SECRET_CHARACTERS_MIN} characters`
  return secretKey === accessKey ? 'is the same as the access key' : undefined
}

/** In a signature a slash or a comma would end the access key. */
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
