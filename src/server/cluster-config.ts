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
  readonly keyUrl: string | undefined
  readonly meta: string | undefined
  readonly blobs: string | undefined
}

/** Undefined for a server alone. */
export function clusterFrom(env: NodeJS.ProcessEnv, flags: ClusterFlags): ClusterSettings | undefined {
  const { name, keyFile, keyUrl, meta, blobs } = flags
  const key = env.HOLDFAST_CLUSTER_KEY || undefined
  const given = [keyFile, keyUrl, key].filter(one => one !== undefined).length
  if (name === undefined) {
    if (given === 0) return undefined
    throw new BadConfig('a cluster key is given without --cluster')
  }
  if (meta === undefined) throw new BadConfig('--cluster needs --meta postgres://…: all gateways share the database')
  if (blobs === undefined) throw new BadConfig('--cluster needs --blobs: all gateways share the bytes')
  if (given === 0) throw new BadConfig(`--cluster needs --cluster-key-file or HOLDFAST_CLUSTER_KEY: ${KEY_FORM}`)
  if (given > 1) throw new BadConfig('the cluster key is given more than once: choose one way')
  return {
    name,
    key: keyUrl === undefined ? localKey(key ?? secretIn(keyFile!, '--cluster-key-file')) : transit(env, keyUrl),
  }
}

function localKey(text: string): ClusterKeySource {
  const key = parseClusterKey(text)
  if (key === undefined) throw new BadConfig(`the cluster key is not ${KEY_FORM}`)
  return { kind: 'local', key: key.toString('hex') }
}

function transit(env: NodeJS.ProcessEnv, address: string): ClusterKeySource {
  if (!isTransitAddress(address)) {
    throw new BadConfig('--cluster-key-url names a transit key: https://HOST:8200/v1/transit/keys/NAME')
  }
  const token = secretFrom(env, 'HOLDFAST_VAULT_TOKEN')
  if (token === undefined) throw new BadConfig('--cluster-key-url needs the token in HOLDFAST_VAULT_TOKEN')
  return { kind: 'transit', address, token }
}
