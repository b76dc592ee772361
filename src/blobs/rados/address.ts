/** Parses the address of a pool: `rados://[USER@]POOL[/NAMESPACE][?conf=FILE]`. */

export interface RadosAddress {
  readonly pool: string
  /** Separates several stores in one pool. */
  readonly namespace: string
  /** The name of a cephx user, without `client.`; its key is in a keyring that the configuration names. */
  readonly user: string
  /** Undefined for the configuration file of the system, /etc/ceph/ceph.conf. */
  readonly conf: string | undefined
}

const FORM =
  'the address of a pool has the form rados://USER@POOL/NAMESPACE?conf=FILE; USER@, /NAMESPACE and ?conf= \
may be left out'
const NAME = /^[A-Za-z0-9_.-]+$/

/** Throws an error that names no part of the address. */
export function parseRadosAddress(address: URL): RadosAddress {
  const { hostname: pool, pathname, username, password, port, hash, searchParams } = address
  if (password !== '') throw new Error(`${FORM}. A password is not part of it: keys of users are in Ceph keyrings`)
  const options = [...searchParams.keys()]
  const namespace = pathname.replace(/^\//, '') || 'holdfast'
  const user = username || 'admin'
  const isPlain = port === '' && hash === '' && options.every(name => name === 'conf') && options.length <= 1
  if (!isPlain || ![pool, namespace, user].every(name => NAME.test(name))) throw new Error(FORM)
  return { pool, namespace, user, conf: searchParams.get('conf') || undefined }
}
