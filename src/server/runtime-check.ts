/**
 * Asks the runtime, before anything is served on it, whether an answer that breaks off could be taken for a complete
 * one. A client would then store a failed download as an empty or shortened object.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { breakOff } from '../http/break-off.ts'
import { type Certificate, listen } from '../http/listen.ts'
import { RUNTIME } from '../lib/runtime.ts'

/** On loopback an answer takes milliseconds; a machine that is busy with its start gets more. */
const WAIT_MS_MAX = 20_000
const LOOPBACK = ['127.0.0.1', '::1']

export class UnsafeRuntime extends Error {}

type BreakOff = (response: ServerResponse, socket: Socket) => void

/** Moments at which an answer breaks off, and what of it must then be missing. */
const MOMENTS = ['before its headers', 'after its headers', 'within its body', 'within its last chunk'] as const
type Moment = (typeof MOMENTS)[number]

const isComplete = (moment: Moment, answer: string): boolean => {
  if (moment === 'within its body') return answer.endsWith('ab')
  // A chunk of no bytes is the last one.
  return moment === 'within its last chunk' ? answer.includes('\r\n0\r\n') : answer !== ''
}

async function fail(message: IncomingMessage, response: ServerResponse, cut: BreakOff): Promise<void> {
  const moment = MOMENTS[Number(message.url?.slice(1))]
  response.on('error', () => {})
  // In the turn in which the request came, some runtimes do otherwise than later.
  await new Promise(setImmediate)
  if (moment === 'after its headers' || moment === 'within its body') response.writeHead(200, { 'content-length': 2 })
  if (moment === 'within its body' || moment === 'within its last chunk') {
    await new Promise(resolve => response.write('a', resolve))
  }
  cut(response, message.socket)
}

function answerTo(moment: number, { port, address: host }: AddressInfo, isSecure: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = isSecure ? connectSecurely({ host, port, rejectUnauthorized: false }) : connect({ host, port })
    let answer = ''
    socket.setTimeout(WAIT_MS_MAX, () => {
      reject(new UnsafeRuntime(`${RUNTIME} does not end a connection whose answer breaks off ${MOMENTS[moment]}`))
      socket.destroy()
    })
    socket.on('data', piece => {
      answer += piece.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
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

/** Throws UnsafeRuntime; false where no loopback address can be listened on, so that nothing was found out. */
export async function checkBrokenAnswers(certificate: Certificate | undefined, cut = breakOff): Promise<boolean> {
  const server = certificate === undefined ? createServer() : createSecureServer({ ...certificate })
  server.on('request', (message: IncomingMessage, response: ServerResponse) => void fail(message, response, cut))
  const address = await listenSomewhere(server)
  if (address === undefined) return false
  try {
    const answers = MOMENTS.map((_, moment) => answerTo(moment, address, certificate !== undefined))
    for (const [at, moment] of MOMENTS.entries()) {
      if (!isComplete(moment, await answers[at]!)) continue
      throw new UnsafeRuntime(
        `${RUNTIME} completes an answer that breaks off ${moment}: clients would keep a failed download as ` +
          'if it were whole. Use another version of it, or Node with HOLDFAST_RUNTIME=node',
      )
    }
    return true
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

const checked = new Map<boolean, Promise<boolean>>()

/** The same, once in a process for each kind of server. */
export function checkRuntime(certificate: Certificate | undefined): Promise<boolean> {
  const isSecure = certificate !== undefined
  const known = checked.get(isSecure) ?? checkBrokenAnswers(certificate)
  checked.set(isSecure, known)
  return known
}
