import { Fault, type FaultCode, type FaultDetails } from '../model/faults.ts'

/**
 * D11. A fault in how a request proves who asks. The mark tells the edge that one dialect answers 403 to all of these,
 * where the other one answers what the table of faults says; it is never shown to the client.
 */
export function authFault(code: FaultCode, detail: FaultDetails): Fault {
  return new Fault(code, { authentication: true, ...detail })
}
