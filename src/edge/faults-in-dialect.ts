/** Faults in a dialect: the same conditions under its codes, statuses and names of details. */
import { Fault } from '../model/faults.ts'
import type { Operation } from '../operations/operation.ts'
import { type Dialect, inDialect } from './dialect.ts'

export interface DialectFault {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Elements of the error document beside code and message. */
  readonly details: readonly (readonly [string, string])[]
}

/** D18. Conditions that the specification of some operations knows by one general code only. */
const FOLDED: ReadonlySet<string> = new Set([
  'AccessControlListNotSupported',
  'InvalidArgument',
  'InvalidRedirectLocation',
  'InvalidStorageClass',
  'InvalidTag',
  'KMS.DisabledException',
  'KMS.NotFoundException',
  'MissingSecurityHeader',
])

/** Details that name headers. Others hold the client's own values: a key that looks like a header is none. */
const NAMING: ReadonlySet<string> = new Set([
  'ArgumentName',
  'Condition',
  'Header',
  'HeadersNotSigned',
  'MissingHeaderName',
])

/** D2. If-Match on a write while there is nothing to match. */
function withoutMatch(fault: Fault, dialect: Dialect): Fault {
  const { Condition, exists } = fault.detail
  const missing = fault.code === 'PreconditionFailed' && Condition === 'If-Match' && exists === false
  return missing && dialect.behavior.missingMatchIsNoSuchKey ? new Fault('NoSuchKey') : fault
}

/** Details in lower case are internal; the others go into the error document. */
const isPublic = (name: string): boolean => /^[A-Z]/.test(name)

export function faultInDialect(raised: Fault, dialect: Dialect, operation: Operation | undefined): DialectFault {
  const fault = withoutMatch(raised, dialect)
  const folds = operation?.foldsFaults === true && dialect.foldsInto !== undefined && FOLDED.has(fault.code)
  const code = dialect.words.get(fault.code) ?? fault.code
  const details = Object.entries(fault.detail)
    .filter(([name, value]) => isPublic(name) && value !== undefined)
    .map(([name, value]): [string, string] => [
      dialect.words.get(name) ?? name,
      NAMING.has(name) ? inDialect(dialect, String(value)) : String(value),
    ])
  return {
    // D11. A fault of the signature is a missing permission in one dialect, a bad request in the other.
    status: fault.detail.authentication === true && dialect.authFaultsAre403 ? 403 : fault.status,
    code: folds ? dialect.foldsInto : code,
    message: inDialect(dialect, String(fault.detail.reason ?? fault.message)),
    details: folds ? [['Reason', code], ...details] : details,
  }
}
