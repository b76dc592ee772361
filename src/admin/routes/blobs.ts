/** Routes of the place where blobs are stored. */
import { readBlobsMove } from '../../store/content/blobs-move.ts'
import { route } from '../route.ts'
import { COUNT, objectOf, oneOfWords, TEXT } from '../schemas.ts'

export const GetBlobsMove = route({
  name: 'GetBlobsMove',
  method: 'GET',
  path: '/v1/blobs/move',
  summary: 'Get the progress of the move of all blobs to another place',
  permission: 'admin',
  answer: objectOf({
    state: oneOfWords('never', 'moving', 'moved'),
    'from?': TEXT,
    'to?': TEXT,
    'blobs?': COUNT,
    'bytes?': COUNT,
    'damaged?': COUNT,
  }),
  input: {},
  async run(ctx) {
    const move = (await readBlobsMove(ctx.store.context.meta))?.move
    if (move === undefined) return { state: 'never' }
    const { state, from, to, blobs, bytes, damaged } = move
    return { state, from: from.name, to: to.name, blobs, bytes, damaged }
  },
})
