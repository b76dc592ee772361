/** Secrets from the environment: in a variable, or in a file that a variable with `_FILE` at its end names. */
import { readFileSync } from 'node:fs'
import { BadConfig } from './bad-config.ts'

/** Variables that hold a secret. A flag would be seen by everybody on the machine. */
export const SECRET_VARIABLES = [
  'HOLDFAST_ROOT_ACCESS_KEY',
  'HOLDFAST_ROOT_SECRET_KEY',
  'HOLDFAST_METRICS_TOKEN',
  'HOLDFAST_META',
  'HOLDFAST_ACCESS_KEY',
  'HOLDFAST_SECRET_KEY',
  'HOLDFAST_SOURCE_ACCESS_KEY',
  'HOLDFAST_SOURCE_SECRET_KEY',
  'HOLDFAST_SOURCE_SESSION_TOKEN',
] as const

export type SecretVariable = (typeof SECRET_VARIABLES)[number]

/** The content of the file, without the end of line that editors put there. `said` is how the file was named. */
export function secretIn(path: string, said: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new BadConfig(`${said}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (text === '') throw new BadConfig(`${said}: ${path} is empty`)
  return text
}

/** Undefined when neither is given; an empty variable is none. */
export function secretFrom(env: NodeJS.ProcessEnv, name: SecretVariable): string | undefined {
  const [value, file] = [env[name], env[`${name}_FILE`]]
  if (!file) return value || undefined
  if (value) throw new BadConfig(`${name} and ${name}_FILE are both given: choose one`)
  return secretIn(file, `${name}_FILE`)
}
