/** Suggests first commands to a person at a terminal once the server is ready. It never prints a secret. */
import { join } from 'node:path'
import { storedRootKey } from './accounts.ts'
import type { Config } from './config.ts'

const PAGES = 'docs/clients/'

const quoted = (text: string): string => (/^[\w./:+@~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** Undefined when a shell could not read the key from anywhere. */
export async function firstSteps(
  { rootKey, data, memory, region }: Pick<Config, 'rootKey' | 'data' | 'memory' | 'region'>,
  url: string,
): Promise<string | undefined> {
  const accessKey = rootKey?.accessKey ?? (memory ? undefined : (await storedRootKey(data))?.accessKey)
  if (accessKey === undefined) return undefined
  const secret =
    rootKey === undefined ? `"$(sed -n 2p ${quoted(join(data, 'root-key'))})"` : '"$HOLDFAST_ROOT_SECRET_KEY"'
  const variables = `AWS_ACCESS_KEY_ID=${quoted(accessKey)} AWS_SECRET_ACCESS_KEY=${secret} AWS_REGION=${region}`
  return [
    'try it with a client, in another terminal:',
    `  ${variables} aws --endpoint-url ${url} s3 ls`,
    `  mc alias set holdfast ${url} ${quoted(accessKey)} ${secret}`,
    `  other clients, and what is special about each: ${PAGES}`,
  ].join('\n')
}
