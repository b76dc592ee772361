/** Binds the functions of librados that the driver calls. Nothing is loaded before a pool is opened. */
import { constants } from 'node:os'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'

/** An address in native memory. */
export type Pointer = unknown

/** Arguments and result have the types of the C prototype. */
export interface NativeFunction {
  // biome-ignore lint/suspicious/noExplicitAny: the compiler does not read C prototypes.
  (...args: readonly unknown[]): any
  /** Runs on another thread; the last argument is called with the error or the result. */
  async(...args: readonly unknown[]): void
}

const PROTOTYPES = {
  rados_create2: 'int rados_create2(_Out_ void **cluster, const char *name, const char *user, uint64_t flags)',
  rados_conf_read_file: 'int rados_conf_read_file(void *cluster, const char *path)',
  rados_conf_get: 'int rados_conf_get(void *cluster, const char *option, void *buf, size_t len)',
  rados_conf_set: 'int rados_conf_set(void *cluster, const char *option, const char *value)',
  rados_connect: 'int rados_connect(void *cluster)',
  rados_shutdown: 'void rados_shutdown(void *cluster)',
  rados_mon_command: `int rados_mon_command(void *cluster, const char **cmd, size_t count, const void *in,
    size_t in_len, _Out_ void **out, _Out_ size_t *out_len, _Out_ void **status, _Out_ size_t *status_len)`,
  rados_buffer_free: 'void rados_buffer_free(void *buf)',
  rados_ioctx_create: 'int rados_ioctx_create(void *cluster, const char *pool, _Out_ void **io)',
  rados_ioctx_set_namespace: 'void rados_ioctx_set_namespace(void *io, const char *nspace)',
  rados_ioctx_destroy: 'void rados_ioctx_destroy(void *io)',
  rados_aio_create_completion2: 'int rados_aio_create_completion2(void *arg, void *callback, _Out_ void **completion)',
  rados_aio_is_complete: 'int rados_aio_is_complete(void *completion)',
  rados_aio_get_return_value: 'int rados_aio_get_return_value(void *completion)',
  rados_aio_release: 'void rados_aio_release(void *completion)',
  rados_aio_read: `int rados_aio_read(void *io, const char *oid, void *completion, void *buf, size_t len,
    uint64_t off)`,
  rados_aio_stat: 'int rados_aio_stat(void *io, const char *oid, void *completion, void *size, void *mtime)',
  rados_create_write_op: 'void *rados_create_write_op()',
  rados_release_write_op: 'void rados_release_write_op(void *op)',
  rados_write_op_create: 'void rados_write_op_create(void *op, int exclusive, const char *category)',
  rados_write_op_write: 'void rados_write_op_write(void *op, const void *buf, size_t len, uint64_t off)',
  rados_write_op_remove: 'void rados_write_op_remove(void *op)',
  rados_aio_write_op_operate: `int rados_aio_write_op_operate(void *op, void *io, void *completion, const char *oid,
    void *mtime, int flags)`,
  rados_object_list_begin: 'void *rados_object_list_begin(void *io)',
  rados_object_list_end: 'void *rados_object_list_end(void *io)',
  rados_object_list_is_end: 'int rados_object_list_is_end(void *io, void *cursor)',
  rados_object_list_cursor_free: 'void rados_object_list_cursor_free(void *io, void *cursor)',
  rados_object_list: `int rados_object_list(void *io, void *start, void *finish, size_t count, const void *filter,
    size_t filter_len, void *results, _Inout_ void **next)`,
  rados_object_list_free: 'void rados_object_list_free(size_t count, void *results)',
} as const

type Functions = { readonly [name in keyof typeof PROTOTYPES]: NativeFunction }

type Koffi = typeof import('koffi')

export interface Librados extends Functions {
  readonly koffi: Koffi
}

const KOFFI_MISSING =
  'blobs in RADOS need the npm package koffi, an optional dependency that cannot be loaded: npm install koffi'
const LIBRADOS_MISSING =
  'blobs in RADOS need the library librados.so.2, which cannot be loaded: install it (Debian: apt install librados2)'

let loading: Promise<Librados> | undefined

/** The same library for every caller. */
export function loadLibrados(): Promise<Librados> {
  loading ??= bindLibrados(() => import('koffi'), 'librados.so.2')
  return loading
}

export async function bindLibrados(importKoffi: () => Promise<Koffi>, file: string): Promise<Librados> {
  const koffi = await importKoffi().catch((cause: unknown) => {
    throw new Error(KOFFI_MISSING, { cause })
  })
  let library: ReturnType<typeof koffi.load>
  try {
    library = koffi.load(file)
  } catch (cause) {
    throw new Error(LIBRADOS_MISSING, { cause })
  }
  const functions = Object.entries(PROTOTYPES).map(([name, prototype]) => [
    name,
    library.func(prototype) as NativeFunction,
  ])
  return { ...(Object.fromEntries(functions) as Functions), koffi }
}

/** Node has no name for the error that a client gets once it is on the blocklist of the cluster. */
const BLOCKLISTED = { ESHUTDOWN: 108 }
const NAMES = new Map(Object.entries({ ...constants.errno, ...BLOCKLISTED }).map(([name, number]) => [number, name]))
/** The cluster did not answer in time, or has cut this client off. */
const OUTAGES = new Set(['ETIMEDOUT', 'ENOTCONN', 'ESHUTDOWN', 'ECONNREFUSED', 'EHOSTUNREACH'])

/** `result` is negative, as librados returns errors. */
export function radosError(result: number, what: string): Error {
  const code = NAMES.get(-result) ?? `error ${-result}`
  if (OUTAGES.has(code)) return new EngineUnavailable(`RADOS: ${what}: ${code}`)
  return Object.assign(new Error(`RADOS: ${what}: ${code}`), { code })
}
