import { Fault, type FaultCode, type FaultDetails } from '../model/faults.ts'

/**
 * D11. A fault in a request's authentication. The flag tells the edge that one dialect responds 403 to all of these,
 * while the other uses the status of the fault table; it is never shown to the client.
 */
export function authFault(code: FaultCode, detail: FaultDetails): Fault {
  return new Fault(code, { authentication: true, ...detail })
}
