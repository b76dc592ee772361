/** Detects unknown HOLDFAST_ variables. */
import { closest } from '../lib/did-you-mean.ts'
import { BadConfig } from './bad-config.ts'
import { SECRET_VARIABLES } from './config-secrets.ts'

const PREFIX = 'HOLDFAST_'

/** Read by commands and scripts, not by a server. */
const OTHERS = ['HOLDFAST_RUNTIME', 'HOLDFAST_ENDPOINT', 'HOLDFAST_CA', 'HOLDFAST_ROUNDS']

const SERVICE = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/

/** Kubernetes and container links define such variables for every service, including one named holdfast. */
const isOfService = (name: string, value: string): boolean =>
  SERVICE.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))

/** Undefined when no known variable is similar. */
function suggestionFor(name: string, ofFlags: readonly string[]): string | undefined {
  const own = (one: string): string => one.slice(PREFIX.length)
  const near = closest(own(name), knownVariables(ofFlags).map(own))
  if (near !== undefined) return `${PREFIX}${near}`
  // A flag's name with a suffix, as in HOLDFAST_TLS_CERTIFICATE or HOLDFAST_DATA_DIR.
  return ofFlags.filter(one => name.startsWith(one)).sort((a, b) => b.length - a.length)[0]
}

const knownVariables = (ofFlags: readonly string[]): readonly string[] => [
  ...ofFlags,
  ...SECRET_VARIABLES.flatMap(name => [name, `${name}_FILE`]),
  ...OTHERS,
]

/** Names of unknown variables, without those of a Kubernetes service. */
export function unknownVariables(env: NodeJS.ProcessEnv, ofFlags: readonly string[]): readonly string[] {
  const known = new Set(knownVariables(ofFlags))
  return Object.keys(env).filter(
    name => name.startsWith(PREFIX) && !known.has(name) && !isOfService(name, env[name] ?? ''),
  )
}

/**
 * A misspelt variable fails the start, as a misspelt flag does, since the intended setting would not be in force. One
 * that resembles no setting may belong to another program and causes a warning.
 */
export function checkVariables(env: NodeJS.ProcessEnv, ofFlags: readonly string[]): readonly string[] {
  return unknownVariables(env, ofFlags).map(name => {
    const meant = suggestionFor(name, ofFlags)
    if (meant !== undefined) throw new BadConfig(`unknown variable ${name} - did you mean ${meant}?`)
    return `unknown variable ${name} is ignored`
  })
}
