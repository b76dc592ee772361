/** The one way to abort a response, so that no client takes a truncated one for complete. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Closes the connection instead of destroying the response: on Bun, a response destroyed before any of its body was
 * written is sent as an empty `200 OK`. Earlier responses on the connection are sent first.
 */
export function breakOff(response: ServerResponse, socket: Socket): void {
  if (response.socket === null && !response.writableFinished) response.once('socket', () => socket.destroy())
  else socket.destroy()
}
