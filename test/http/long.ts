/** For costly tests of bytes and documents that take the same path through the server in both dialects. */
import { LONG } from '../long.ts'
import { inBoth, inOne } from './server.ts'

/** One test per dialect in the long form. In the short form one of the two, chosen by the title, so always the same. */
export const inEither: typeof inBoth = (title, run, options) => {
  if (LONG) inBoth(title, run, options)
  else inOne(title.length % 2 === 0 ? 'svc' : 's3', title, run, options)
}
