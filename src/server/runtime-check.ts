/**
 * Checks before serving that the runtime never makes an aborted response look complete. A client would otherwise store
 * a failed download as an empty or truncated object.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { breakOff } from '../http/break-off.ts'
import { type Certificate, listen } from '../http/listen.ts'
import { RUNTIME } from '../lib/runtime.ts'

/** On loopback a response takes milliseconds; the limit allows for a machine that is busy starting. */
const WAIT_MS_MAX = 20_000
const LOOPBACK = ['127.0.0.1', '::1']

export class UnsafeRuntime extends Error {}

type BreakOff = (response: ServerResponse, socket: Socket) => void

/** Stages at which a response is aborted. */
const STAGES = ['before its headers', 'after its headers', 'within its body', 'within its last chunk'] as const
type Stage = (typeof STAGES)[number]

const isComplete = (moment: Stage, response: string): boolean => {
  if (moment === 'within its body') return response.endsWith('ab')
  // A chunk of zero bytes is the last one.
  return moment === 'within its last chunk' ? response.includes('\r\n0\r\n') : response !== ''
}

async function fail(message: IncomingMessage, response: ServerResponse, cut: BreakOff): Promise<void> {
  const moment = STAGES[Number(message.url?.slice(1))]
  response.on('error', () => {})
  // Some runtimes behave differently in the turn of the event loop in which the request arrived.
  await new Promise(setImmediate)
  if (moment === 'after its headers' || moment === 'within its body') response.writeHead(200, { 'content-length': 2 })
  if (moment === 'within its body' || moment === 'within its last chunk') {
    await new Promise(resolve => response.write('a', resolve))
  }
  cut(response, message.socket)
}

function responseTo(moment: number, { port, address: host }: AddressInfo, isSecure: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = isSecure ? connectSecurely({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    let response = ''
    socket.setTimeout(WAIT_MS_MAX, () => {
      reject(new UnsafeRuntime(`${RUNTIME} does not close the connection of a response aborted ${STAGES[moment]}`))
      socket.destroy()
    })
    socket.on('data', piece => {
      response += piece.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(response))
    socket.on(isSecure ? 'secureConnect' : 'connect', () =>
      socket.write(`GET /${moment} HTTP/1.1\r\nHost: check\r\n\r\n`),
    )
  })
}

async function listenSomewhere(server: Server): Promise<AddressInfo | undefined> {
  for (const host of LOOPBACK) {
    const address = await listen(server, host, 0).catch(() => undefined)
    if (address !== undefined) return address
  }
  return undefined
}

/** Throws UnsafeRuntime; returns false when no loopback address is available and nothing could be checked. */
export async function checkTruncatedResponses(certificate: Certificate | undefined, cut = breakOff): Promise<boolean> {
  const server = certificate === undefined ? createServer() : createSecureServer({ ...certificate })
  server.on('request', (message: IncomingMessage, response: ServerResponse) => void fail(message, response, cut))
  const address = await listenSomewhere(server)
  if (address === undefined) return false
  try {
    const responses = STAGES.map((_, moment) => responseTo(moment, address, certificate !== undefined))
    for (const [at, moment] of STAGES.entries()) {
      if (!isComplete(moment, await responses[at]!)) continue
      throw new UnsafeRuntime(
        `${RUNTIME} completes a response aborted ${moment}: clients would take a failed download for a complete ` +
          'one. Use another version of it, or Node with HOLDFAST_RUNTIME=node',
      )
    }
    return true
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const checked = new Map<boolean, Promise<boolean>>()

/** Runs the check once per process for each kind of server. */
export function checkRuntime(certificate: Certificate | undefined): Promise<boolean> {
  const isSecure = certificate !== undefined
  const known = checked.get(isSecure) ?? checkTruncatedResponses(certificate)
  checked.set(isSecure, known)
  return known
}
