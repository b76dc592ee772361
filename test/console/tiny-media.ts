/** The smallest files of their kinds that a browser can show. */
import type { Page } from 'playwright-core'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const tinyPicture = (): Buffer => Buffer.from(PNG, 'base64')

/** A tenth of a second of silence, 8,000 samples of one byte per second. */
export function tinySound(): Buffer {
  const samples = Buffer.alloc(800, 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(8000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

export const tinyDocument = (): Buffer =>
  Buffer.from(`%PDF-1.1
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj
trailer<</Root 1 0 R>>
%%EOF
`)

/** Recorded by the browser itself. */
export async function tinyFilm(page: Page): Promise<Buffer> {
  const base64 = await page.evaluate(`(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 16, height: 16 })
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: 'video/webm' })
    const pieces = []
    recorder.ondataavailable = ({ data }) => pieces.push(data)
    const stopped = new Promise(resolve => { recorder.onstop = resolve })
    recorder.start()
    const pen = canvas.getContext('2d')
    for (let i = 0; i < 10; i++) {
      await new Promise(requestAnimationFrame)
      pen.fillStyle = i % 2 ? 'red' : 'blue'
      pen.fillRect(0, 0, 16, 16)
    }
    while (pieces.length === 0) {
      recorder.requestData()
      await new Promise(requestAnimationFrame)
      pen.fillRect(0, 0, 16, 16)
    }
    recorder.stop()
    await stopped
    const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer())
    return btoa(String.fromCharCode(...bytes))
  })()`)
  return Buffer.from(String(base64), 'base64')
}
