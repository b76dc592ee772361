/**
 * Connections that read into one buffer. For every read of a socket Node allocates 64 KiB, shrinks that to what has
 * arrived and passes it through a stream, which takes a tenth of the processor time of a small request. Its option
 * `onread` avoids that, but a server cannot pass it to the sockets that it accepts: their handles get other sockets.
 */
import { Socket, type SocketConstructorOpts } from 'node:net'

/** As much as Node reads at once. Every read is over before the next one of any connection begins. */
const buffer = Buffer.allocUnsafeSlow(64 * 1024)

/** Fields of a socket that belong to Node. */
interface Internals {
  _handle: { readonly useUserBuffer?: unknown } | null
  /** The server that counts its connections. */
  _server: unknown
  server: unknown
}

type OnBytes = (bytes: Buffer) => void

class SharedBufferSocket extends Socket {
  onBytes: OnBytes | undefined

  constructor(handle: Internals['_handle']) {
    const callback = (length: number): boolean => {
      this.onBytes?.(buffer.subarray(0, length))
      return true
    }
    super({ handle, allowHalfOpen: true, onread: { buffer, callback } } as SocketConstructorOpts)
  }
}

/**
 * The socket to use instead of one that was just accepted; the same one where the runtime cannot read in this way. It
 * emits no `data`: its bytes go to `onBytes`, or to a parser that reads below the socket.
 */
export function withSharedBuffer(accepted: Socket): Socket {
  const former = accepted as unknown as Internals
  const { _handle: handle, _server, server } = former
  if (handle?.useUserBuffer === undefined) return accepted
  const socket = new SharedBufferSocket(handle)
  Object.assign(socket, { _server, server })
  // The accepted socket has given up its handle, and the server counts the other one.
  former._handle = null
  former._server = null
  return socket
}

/** The listener gets bytes that are valid until it returns. The function that is returned removes it. */
export function onBytes(socket: Socket, take: OnBytes): () => void {
  if (!(socket instanceof SharedBufferSocket)) {
    socket.on('data', take)
    return () => socket.off('data', take)
  }
  socket.onBytes = take
  return () => {
    socket.onBytes = undefined
  }
}
