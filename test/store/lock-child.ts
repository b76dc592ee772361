/** Sets and lifts holds on the folder that is named, saying before and after each, until it is killed. */
import { writeSync } from 'node:fs'
import { openFolder } from '../../src/server/compose.ts'

const [folder, keys] = process.argv.slice(2)
const { store } = await openFolder({ folder: folder!, durability: 'os' })
/** At once: what waits in this process when it is killed was done and never told. */
const say = (line: string): void => void writeSync(1, `${line}\n`)

async function toggle(key: string): Promise<void> {
  for (let round = 0; ; round++) {
    const hold = round % 2 === 0
    say(`begin ${key} ${hold}`)
    await store.objects.setHold({ bucket: 'bucket', key }, hold)
    say(`done ${key} ${hold}`)
  }
}

await Promise.all(Array.from({ length: Number(keys) }, (_, i) => toggle(`k${i}`)))
