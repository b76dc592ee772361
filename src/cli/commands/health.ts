/** Health check for process supervisors and containers. */
import { request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { adminAddressOf } from '../../server/open-admin.ts'
import { type Command, type CommandResult, type Invocation, onFolder } from '../command.ts'
import { dataFolder } from '../connect.ts'
import { CommandFailed } from '../failures.ts'
import { pathExists } from '../path-exists.ts'

const TIMEOUT_MS = 5_000

/** Neither the request nor the response carries a secret, so the certificate need not be verified. */
const ANY_CERTIFICATE = { rejectUnauthorized: false }

function statusOf(url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const request =
      url.protocol === 'https:' ? secureRequest(url, { ...ANY_CERTIFICATE, signal }) : plainRequest(url, { signal })
    request.once('error', error => reject(signal.aborted ? new Error(`no answer in ${TIMEOUT_MS / 1000} s`) : error))
    request.once('response', response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.end()
  })
}

async function health(call: Invocation): Promise<CommandResult> {
  const folder = dataFolder(call)
  const address = pathExists(folder) ? await adminAddressOf(folder) : undefined
  if (address === undefined) throw new CommandFailed(`no server with a console runs on ${folder}`)
  const status = await statusOf(new URL('/health/ready?for=reads', address)).catch((error: Error) => {
    throw new CommandFailed(`the console at ${address} does not answer: ${error.message}`)
  })
  const ready = status === 200
  return { value: { ready, console: address }, text: ready ? 'ready' : 'not ready', code: ready ? 0 : 1 }
}

export const healthCommand: Command = onFolder({
  name: 'health',
  summary: 'report whether the server on the data folder is ready; exits 1 if it is not',
  examples: ['health --data ./data'],
  run: health,
})
