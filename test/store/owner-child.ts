/** Another server on the given folder: prints `owner` or why not, and runs until its input ends. */
import { openFolder } from '../../src/server/compose.ts'

const [folder, key] = process.argv.slice(2)
try {
  const { store, close } = await openFolder({ folder: folder!, durability: 'os' })
  if (key !== undefined) {
    await store.objects.put({ bucket: 'bucket', key, owner: 'owner', body: [Buffer.from(key)] })
  }
  process.stdout.write('owner\n')
  process.stdin.resume()
  await new Promise(resolve => process.stdin.once('end', resolve))
  await close()
} catch (error) {
  process.stdout.write(`${(error as Error).name}\n`)
}
