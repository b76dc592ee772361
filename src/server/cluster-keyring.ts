/** The secrets that the gateways of a cluster share: opened with the cluster key, created by the first of them. */
import { type ClusterKey, localClusterKey } from '../crypto/cluster-key.ts'
import { decodeKeyring, fitting, KeyringChanged, type KeyringStorage, keyringInFolder } from '../crypto/keyring-file.ts'
import { transitKey } from '../crypto/transit-key.ts'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import type { Meta, Stamp } from '../meta/meta.ts'
import { SharedSecret } from '../store/cluster/shared-secrets.ts'
import type { RootKey } from '../store/identity/identity-cache.ts'

/** In a form that can be passed to workers. */
export type ClusterKeySource =
  | { readonly kind: 'local'; readonly key: string }
  | { readonly kind: 'transit'; readonly address: string; readonly token: string }

export interface ClusterSettings {
  readonly name: string
  readonly key: ClusterKeySource
}

function clusterKeyOf(source: ClusterKeySource): ClusterKey {
  if (source.kind === 'local') return localClusterKey(Buffer.from(source.key, 'hex'), systemRandom)
  return transitKey({ address: new URL(source.address), token: source.token })
}

const sharedSecret = (meta: Meta, { name, key }: ClusterSettings, what: string): SharedSecret =>
  new SharedSecret(meta, clusterKeyOf(key), name, what)

/**
 * The keyring in the metadata. A store that becomes a cluster has it in the folder of its server: the first gateway
 * with that folder takes it over.
 */
export function clusterKeyring(meta: Meta, settings: ClusterSettings, folder: string): KeyringStorage {
  const secret = sharedSecret(meta, settings, 'keyring')
  const place = `of cluster ${settings.name}`
  let stamp: Stamp | undefined
  const storage: KeyringStorage = {
    place,
    async read() {
      const found = await secret.read()
      stamp = found?.stamp
      if (found !== undefined) return decodeKeyring(found.secret, place)
      const own = await keyringInFolder(realDisk, folder).read()
      if (own === undefined) return undefined
      if (!(await secret.write(fitting(own), undefined))) throw new KeyringChanged()
      return storage.read()
    },
    async write(contents) {
      if (!(await secret.write(fitting(contents), stamp))) throw new KeyringChanged()
      stamp = await secret.stamp()
    },
  }
  return storage
}

/** As the file of a data folder has it, for a backup. */
export async function exportedClusterKeyring(meta: Meta, settings: ClusterSettings): Promise<Buffer> {
  const found = await sharedSecret(meta, settings, 'keyring').read()
  if (found === undefined) throw new Error(`cluster ${settings.name} has no keyring: start a gateway first`)
  return found.secret
}

/** The root account's key of the cluster; `make` is called by the gateway that creates it. */
export async function clusterRootKey(meta: Meta, settings: ClusterSettings, make: () => RootKey): Promise<RootKey> {
  const secret = sharedSecret(meta, settings, 'root key')
  for (;;) {
    const found = await secret.read()
    if (found !== undefined) return JSON.parse(found.secret.toString('utf8')) as RootKey
    const { accessKey, secretKey } = make()
    await secret.write(Buffer.from(JSON.stringify({ accessKey, secretKey })), undefined)
  }
}
