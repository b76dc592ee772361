/** Faults in a dialect: its codes, statuses and names of details for the same conditions. */
import { Fault } from '../model/faults.ts'
import type { Operation } from '../operations/operation.ts'
import { type Dialect, inDialect } from './dialect.ts'

interface DialectFault {
  readonly status: number
  readonly code: string
  readonly message: string
  /** Elements of the error document beside code and message. */
  readonly details: readonly (readonly [string, string])[]
}

/** D18. Conditions for which the specification of some operations has only one general code. */
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

/** Details that name headers. Other details are the client's own values, even if they look like a header. */
const NAMING: ReadonlySet<string> = new Set([
  'ArgumentName',
  'Condition',
  'Header',
  'HeadersNotSigned',
  'MissingHeaderName',
])

/** D2. If-Match on a write without a current object. */
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
    // D11. A signature fault is a 403 in one dialect and a 400 in the other.
    status: fault.detail.authentication === true && dialect.authFaultsAre403 ? 403 : fault.status,
    code: folds ? dialect.foldsInto : code,
    message: inDialect(dialect, String(fault.detail.reason ?? fault.message)),
    details: folds ? [['Reason', code], ...details] : details,
  }
}
