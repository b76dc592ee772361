import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Config, readConfig } from './config.ts'
import { RejoiningServer } from './rejoining-server.ts'

test('a gateway joins the cluster again on the ports that it had, also on those that a URL does not name', async () => {
  for (const [listen, console, urls, ports] of [
    ['0.0.0.0:443', '127.0.0.1:0', ['https://0.0.0.0:443', 'https://127.0.0.1:40123'], [443, 40_123]],
    ['127.0.0.1:0', '127.0.0.1:80', ['http://127.0.0.1:40124', 'http://127.0.0.1:80'], [40_124, 80]],
    ['127.0.0.1:9000', 'off', ['http://127.0.0.1:9000', 'off'], [9000, undefined]],
  ] as const) {
    const starts: Config[] = []
    let again = (): void => {}
    const rejoined = new Promise<void>(resolve => {
      again = resolve
    })
    let lose = (): void => {}
    const logger = { log: () => {}, notice: () => {}, abort: () => {} }
    const server = await RejoiningServer.start(
      readConfig(['--listen', listen, '--console', console], {})!,
      logger,
      async (config, { abort }) => {
        lose = abort
        if (starts.push(config) === 2) again()
        return { url: urls[0], consoleUrl: urls[1], reload: async () => {}, close: async () => {} }
      },
    )
    lose()
    await rejoined
    assert.deepEqual([starts[1]!.listen.port, starts[1]!.console?.port], ports)
    await server.close()
  }
})
