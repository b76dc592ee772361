/** Metrics of several processes are merged, and a worker that dies loses none of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withFolder } from '../store/fixture.ts'
import { type Family, figure, readExposition } from '../telemetry/exposition.ts'
import { BUCKET, type Program, ROOT, until, withProgram } from './program.ts'

const CONNECTIONS = 8
const LABELS = { operation: 'PutObject', dialect: 's3', status: '200', code: 'ok' }

async function scrape(program: Program): Promise<Map<string, Family>> {
  const console = / console (\S+)\n/.exec(program.out)![1]!
  const answer = await fetch(`${console}/metrics`)
  assert.equal(answer.status, 200)
  return readExposition(await answer.text())
}

async function put(program: Program): Promise<void> {
  const clients = Array.from({ length: CONNECTIONS }, () => program.client())
  const sent = clients.map((client, at) =>
    client.send({ method: 'PUT', bucket: BUCKET, path: `/${at}`, body: 'x', as: ROOT }),
  )
  for (const { status } of await Promise.all(sent)) assert.equal(status, 200)
}

const flags = ['--console', '127.0.0.1:0', '--metrics-public']

test('metrics of workers are summed, and totals never decrease when one is killed', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        const puts = async (): Promise<number> => figure(await scrape(program), 'holdfast_requests_total', LABELS)
        await put(program)
        await until('all are counted', async () => (await puts()) === CONNECTIONS)
        const [first] = program.workers()
        process.kill(first!, 'SIGKILL')
        await until('it is replaced', async () => {
          const families = await scrape(program)
          assert.equal(figure(families, 'holdfast_requests_total', LABELS), CONNECTIONS)
          const workers = figure(families, 'holdfast_processes', { role: 'worker' })
          return workers === 2 && figure(families, 'holdfast_worker_restarts_total') === 1
        })
        await put(program)
        await until('the new one is counted, too', async () => (await puts()) === 2 * CONNECTIONS)
        const families = await scrape(program)
        assert.equal(figure(families, 'holdfast_processes', { role: 'supervisor' }), 1)
        for (const name of [
          'holdfast_meta_map_bytes',
          'holdfast_meta_entries',
          'holdfast_maintenance_steps_total',
          'holdfast_process_resident_bytes',
          'holdfast_process_open_files',
          'holdfast_info',
        ]) {
          assert(figure(families, name) > 0, name)
        }
      },
      ...flags,
    ),
  ))
