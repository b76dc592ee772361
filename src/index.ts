/// <reference lib="esnext.disposable" preserve="true" />
/** What `import … from 'holdfast'` gives: the store inside another process. */
export type * from './embedded/api.ts'
export { Holdfast } from './embedded/holdfast.ts'
