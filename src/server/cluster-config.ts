/** The settings of a gateway in a cluster. */
import { parseClusterKey } from '../crypto/cluster-key.ts'
import { isTransitAddress } from '../crypto/transit-key.ts'
import { BadConfig } from './bad-config.ts'
import type { ClusterKeySource, ClusterSettings } from './cluster-keyring.ts'
import { secretFrom, secretIn } from './config-secrets.ts'

const CLUSTER_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

const KEY_FORM = '32 random bytes in hexadecimal or base64, for example by: openssl rand -hex 32'

export function clusterName(text: string, flag: string): string {
  if (CLUSTER_NAME.test(text)) return text
  throw new BadConfig(`--${flag} is 1 to 63 lower-case letters, digits and hyphens, beginning with a letter or digit`)
}

interface ClusterFlags {
  readonly name: string | undefined
  readonly keyFile: string | undefined
  readonly meta: string | undefined
  readonly blobs: string | undefined
}

/** Undefined for a server alone. */
export function clusterFrom(env: NodeJS.ProcessEnv, flags: ClusterFlags): ClusterSettings | undefined {
  const { name, keyFile, meta, blobs } = flags
  const fromEnvironment = secretFrom(env, 'HOLDFAST_CLUSTER_KEY')
  if (name === undefined) {
    if (keyFile === undefined && fromEnvironment === undefined) return undefined
    throw new BadConfig('a cluster key is given without --cluster')
  }
  if (meta === undefined) throw new BadConfig('--cluster needs --meta postgres://…: all gateways share the database')
  if (blobs === undefined) throw new BadConfig('--cluster needs --blobs: all gateways share the bytes')
  if (keyFile !== undefined && fromEnvironment !== undefined) {
    throw new BadConfig('--cluster-key and HOLDFAST_CLUSTER_KEY are both given: choose one')
  }
  return { name, key: keySource(env, keyFile, fromEnvironment) }
}

function keySource(
  env: NodeJS.ProcessEnv,
  given: string | undefined,
  fromEnvironment: string | undefined,
): ClusterKeySource {
  if (given !== undefined && isTransitAddress(given)) {
    const token = secretFrom(env, 'HOLDFAST_VAULT_TOKEN')
    if (token === undefined) throw new BadConfig('--cluster-key names a transit key: set HOLDFAST_VAULT_TOKEN')
    return { kind: 'transit', address: given, token }
  }
  const text = given === undefined ? fromEnvironment : secretIn(given, '--cluster-key')
  if (text === undefined) {
    throw new BadConfig(`--cluster needs --cluster-key or HOLDFAST_CLUSTER_KEY: ${KEY_FORM}`)
  }
  const key = parseClusterKey(text)
  if (key === undefined) throw new BadConfig(`the cluster key is not ${KEY_FORM}`)
  return { kind: 'local', key: key.toString('hex') }
}
