/** Opens the keyring of a store where it is kept: in its data folder, or shared by the gateways of its cluster. */
import { Keyring } from '../crypto/keyring.ts'
import { KeyringChanged, type KeyringStorage, keyringInFolder } from '../crypto/keyring-file.ts'
import type { Disk } from '../lib/disk.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import { KEYRING_KEY, keyringIdFormat } from '../store/keys/keyring-id.ts'
import type { PeerProcesses } from '../store/reclaim/reclamation-barrier.ts'
import { type ClusterSettings, clusterKeyring } from './cluster-keyring.ts'

/** A lost keyring must not be silently replaced, since data encrypted with it could never be read again. */
const neverCreated = (storage: KeyringStorage, where: string): KeyringStorage => ({
  ...storage,
  async read() {
    const contents = await storage.read()
    if (contents !== undefined) return contents
    throw new Error(`the keyring of ${where} is missing: restore it from a backup before the server can start`)
  },
})

interface KeyringPlace {
  readonly meta: Meta
  readonly disk: Disk
  readonly folder: string
  readonly random: Random
  readonly strictKeys: boolean
  readonly others?: Pick<PeerProcesses, 'reloadKeys'> | undefined
  readonly cluster?: ClusterSettings | undefined
}

export async function openKeyring(options: KeyringPlace): Promise<Keyring> {
  const { meta, disk, folder, random, strictKeys: strict, others, cluster } = options
  const kept = cluster === undefined ? keyringInFolder(disk, folder) : clusterKeyring(meta, cluster, folder)
  const entry = await meta.get(KEYRING_KEY)
  const where = cluster === undefined ? folder : `cluster ${cluster.name}`
  const storage = entry === undefined ? kept : neverCreated(kept, where)
  const home = { storage, random, strict, changed: async () => others?.reloadKeys() }
  const keyring = await Keyring.open(home).catch((error: unknown) => {
    // Another gateway has just created it.
    if (error instanceof KeyringChanged) return Keyring.open(home)
    throw error
  })
  if (entry === undefined) {
    await meta.commit({
      checks: [{ key: KEYRING_KEY, stamp: undefined }],
      writes: [{ key: KEYRING_KEY, value: keyringIdFormat.encode(keyring.id) }],
    })
  } else if (!keyringIdFormat.decode(entry.value).equals(keyring.id)) {
    throw new Error(`the keyring of ${folder} belongs to another store`)
  }
  return keyring
}
