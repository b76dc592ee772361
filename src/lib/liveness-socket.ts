/**
 * Liveness by the kernel: a process listens on a socket file, and any process that can connect to it knows that it is
 * alive. The socket closes with the process, however it exits, and works across containers that share a folder.
 */
import { rmSync } from 'node:fs'
import { chmod, open } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'

/** Socket addresses are short (108 bytes); on Linux a folder's descriptor stands in for a long path. */
const ADDRESS_BYTES_MAX = 100

async function withAddress<T>(path: string, use: (address: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(path) <= ADDRESS_BYTES_MAX) return use(path)
  if (process.platform !== 'linux') throw new Error(`the path of the data folder is too long for a socket: ${path}`)
  const folder = await open(dirname(path), 'r')
  try {
    return await use(join(`/proc/self/fd/${folder.fd}`, basename(path)))
  } finally {
    await folder.close()
  }
}

export interface LivenessSocket {
  end(): Promise<void>
}

/** Listens at `path`, which must not exist yet. */
export function openLivenessSocket(path: string): Promise<LivenessSocket> {
  return withAddress(path, address => {
    const server = createServer(socket => socket.destroy())
    // The socket must not keep an otherwise idle process running.
    server.unref()
    return new Promise<LivenessSocket>((resolve, reject) => {
      server.once('error', reject)
      // By default a node:cluster worker delegates listening to its parent, whose liveness it would then show.
      server.listen({ path: address, exclusive: true }, () => {
        server.off('error', reject)
        // Accept may fail, for example for lack of descriptors, but the client still learns that a process listens.
        server.on('error', () => {})
        const end = async (): Promise<void> => {
          // The runtime removes the address it was given, which for a long path is a closed descriptor. The file is
          // removed before the socket closes: afterwards it may belong to the next process that listens there.
          if (address !== path) rmSync(path, { force: true })
          await new Promise(done => server.close(done))
        }
        // Private like every file next to it, where the filesystem supports it.
        void chmod(address, 0o600)
          .catch(() => {})
          .then(() => resolve({ end }))
      })
    })
  })
}

/** True while the process listening at `path` is alive. */
export function isAlive(path: string): Promise<boolean> {
  return withAddress(
    path,
    address =>
      new Promise<boolean>((resolve, reject) => {
        const socket = connect({ path: address })
        socket.once('connect', () => {
          socket.destroy()
          resolve(true)
        })
        socket.once('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
          // A full backlog, or a connection that was accepted and dropped, also proves that a process listens.
          else if (error.code === 'EAGAIN' || error.code === 'ECONNRESET') resolve(true)
          else reject(error)
        })
      }),
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return false
    throw error
  })
}
