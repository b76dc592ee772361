/**
 * Being there, told by the kernel: a process listens on a socket file, and whoever can connect to it knows that the
 * process lives. It ends with the process, however that ends, and holds across containers that share a folder.
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

/** Shows at `path` that this process is there. The path must be new. */
export function openLivenessSocket(path: string): Promise<LivenessSocket> {
  return withAddress(path, address => {
    const server = createServer(socket => socket.destroy())
    // Being there keeps nobody alive who has nothing else to do.
    server.unref()
    return new Promise<LivenessSocket>((resolve, reject) => {
      server.once('error', reject)
      // By itself a worker of node:cluster lets its parent listen, and then it would be the parent that is there.
      server.listen({ path: address, exclusive: true }, () => {
        server.off('error', reject)
        // A caller that cannot be accepted, for want of descriptors for example, still knows that somebody listens.
        server.on('error', () => {})
        const end = async (): Promise<void> => {
          // The runtime removes the address that it was given: for a long path a descriptor that is closed by now. Both
          // do so before anybody can see the end of it: later it may be that of the next one who shows itself there.
          if (address !== path) rmSync(path, { force: true })
          await new Promise(done => server.close(done))
        }
        // Like every file beside it, where the filesystem can: there is nothing to be read from it.
        void chmod(address, 0o600)
          .catch(() => {})
          .then(() => resolve({ end }))
      })
    })
  })
}

/** True while the process that showed itself at `path` lives. */
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
          // A full queue, or a connection that was accepted and dropped at once, means that somebody listens.
          else if (error.code === 'EAGAIN' || error.code === 'ECONNRESET') resolve(true)
          else reject(error)
        })
      }),
  ).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return false
    throw error
  })
}
