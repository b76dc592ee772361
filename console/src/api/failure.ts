/** An error of the admin API or the object API, with what a person needs to report it. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** The condition of the request that was not met. */
  readonly condition: string | undefined

  constructor(
    fields: Pick<ApiFailure, 'status' | 'code' | 'message'> &
      Partial<Pick<ApiFailure, 'requestId' | 'retryAfterSeconds' | 'condition'>>,
  ) {
    super(fields.message)
    this.name = 'ApiFailure'
    this.status = fields.status
    this.code = fields.code
    this.requestId = fields.requestId
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.condition = fields.condition
  }

  /** The same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/** No answer came: the server is down, restarting or out of reach. */
export const unreachable = (message: string): ApiFailure => new ApiFailure({ status: 0, code: 'Unreachable', message })
