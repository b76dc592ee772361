/** The one way to end an answer that cannot be completed, so that no client takes it for a complete one. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes the connection instead of destroying the response: on Bun, a response that is destroyed before any of its body
 * was written goes out as an empty `200 OK`. Answers that precede this one on the connection are sent first.
 */
export function breakOff(response: ServerResponse, socket: Socket): void {
  if (response.socket === null && !response.writableFinished) response.once('socket', () => socket.destroy())
  else socket.destroy()
}
