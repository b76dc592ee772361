/** Secrets from the environment: in a variable, or in a file named by the variable with the suffix `_FILE`. */
import { readFileSync } from 'node:fs'
import { BadConfig } from './bad-config.ts'

/** Variables with a secret. Flags are visible to all users of the machine. */
export const SECRET_VARIABLES = [
  'HOLDFAST_ROOT_ACCESS_KEY',
  'HOLDFAST_ROOT_SECRET_KEY',
  'HOLDFAST_METRICS_TOKEN',
  'HOLDFAST_META',
  'HOLDFAST_CLUSTER_KEY',
  'HOLDFAST_VAULT_TOKEN',
  'HOLDFAST_BLOBS_ACCESS_KEY',
  'HOLDFAST_BLOBS_SECRET_KEY',
  'HOLDFAST_ACCESS_KEY',
  'HOLDFAST_SECRET_KEY',
  'HOLDFAST_SOURCE_ACCESS_KEY',
  'HOLDFAST_SOURCE_SECRET_KEY',
  'HOLDFAST_SOURCE_SESSION_TOKEN',
] as const

type SecretVariable = (typeof SECRET_VARIABLES)[number]

/** The content of the file without a trailing line break. `setting` is the setting that named the file. */
export function secretIn(path: string, setting: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new BadConfig(`${setting}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (text === '') throw new BadConfig(`${setting}: ${path} is empty`)
  return text
}

/** Undefined when neither is set; an empty variable counts as not set. */
export function secretFrom(env: NodeJS.ProcessEnv, name: SecretVariable): string | undefined {
  const [value, file] = [env[name], env[`${name}_FILE`]]
  if (!file) return value || undefined
  if (value) throw new BadConfig(`${name} and ${name}_FILE are both given: choose one`)
  return secretIn(file, `${name}_FILE`)
}
