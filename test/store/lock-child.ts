/** Sets and removes holds in the given folder, printing a line before and after each, until it is killed. */
import { writeSync } from 'node:fs'
import { openFolder } from '../../src/server/compose.ts'

const [folder, keys] = process.argv.slice(2)
const { store } = await openFolder({ folder: folder!, durability: 'os' })
/** Synchronous: output buffered at the kill would be lost, though its change was made. */
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
