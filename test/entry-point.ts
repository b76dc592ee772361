/**
 * The program's entry point. `scripts/test.mjs` names a bundle of it in `HOLDFAST_TEST_ENTRY`: loading one file instead
 * of several hundred modules halves the processor time of a start.
 */
import { fileURLToPath } from 'node:url'

/** The build itself, which runs where there is no bundle. */
export const BUILT_PROGRAM = fileURLToPath(import.meta.url.replace(/test\/entry-point(\.\w+)$/, 'src/main$1'))
export const PROGRAM = process.env.HOLDFAST_TEST_ENTRY ?? BUILT_PROGRAM
