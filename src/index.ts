/// <reference lib="esnext.disposable" preserve="true" />
/** The exports of `import … from 'holdfast'`: the store inside another process. */
export type * from './embedded/api.ts'
export { Holdfast } from './embedded/holdfast.ts'
