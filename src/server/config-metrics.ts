/** The token with which a scraper may read the metrics. */
import { BadConfig } from './bad-config.ts'
import { secretIn } from './config-secrets.ts'

const TOKEN_CHARACTERS_MIN = 16

/** Not a flag of its own, since command lines are visible to all users of the machine. */
export function metricsToken(env: NodeJS.ProcessEnv, file: string | undefined): string | undefined {
  const isVariable = env.HOLDFAST_METRICS_TOKEN_FILE === file
  if (file !== undefined && isVariable && env.HOLDFAST_METRICS_TOKEN) {
    throw new BadConfig('HOLDFAST_METRICS_TOKEN and HOLDFAST_METRICS_TOKEN_FILE are both given: choose one')
  }
  const setting = isVariable ? 'HOLDFAST_METRICS_TOKEN_FILE' : '--metrics-token-file'
  const token = file === undefined ? env.HOLDFAST_METRICS_TOKEN : secretIn(file, setting).trim()
  if (token === undefined || token === '') return undefined
  if (!/^[\x21-\x7e]+$/.test(token) || token.length < TOKEN_CHARACTERS_MIN) {
    throw new BadConfig(`the token for metrics needs ${TOKEN_CHARACTERS_MIN} or more visible ASCII characters`)
  }
  return token
}
