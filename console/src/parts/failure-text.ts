/** The words of an error: what happened, what to do about it, and what to quote when asking for help. */
import { ApiFailure } from '../api/failure.ts'
import { texts } from '../texts/texts.ts'

interface FailureText {
  readonly message: string
  readonly hint: string | undefined
  readonly code: string | undefined
  readonly requestId: string | undefined
}

export function failureText(error: unknown): FailureText {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof ApiFailure)) return { message, hint: undefined, code: undefined, requestId: undefined }
  const { code, requestId } = error
  return { message, hint: texts.errors.hints[code], code, requestId }
}
