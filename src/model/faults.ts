import { EngineUnavailable } from '../lib/engine-unavailable.ts'

/**
 * R116. Every error that a client can receive: one table of code, status and default message. `detail` has the variable
 * parts. Anything else that is thrown is an internal error, whose text never reaches a client.
 */
export const FAULTS = {
  AccessControlListNotSupported: [400, 'The bucket does not allow ACLs'],
  AccessDenied: [403, 'Access Denied'],
  AccessForbidden: [403, 'CORSResponse: This CORS request is not allowed.'],
  AmbiguousGrantByEmailAddress: [400, 'The e-mail address you provided is associated with more than one account.'],
  AuthorizationHeaderMalformed: [400, 'The authorization header is malformed.'],
  AuthorizationQueryParametersError: [400, 'The query parameters of the signature are not valid.'],
  BadDigest: [400, 'The checksum you specified did not match the calculated checksum.'],
  BadRequest: [400, 'Bad Request'],
  BucketAlreadyExists: [409, 'The requested bucket name is not available.'],
  BucketAlreadyOwnedByYou: [409, 'Your previous request to create the named bucket succeeded and you already own it.'],
  BucketNotEmpty: [409, 'The bucket you tried to delete is not empty'],
  DeleteConflict: [409, 'The resource cannot be deleted while other resources depend on it.'],
  EntityAlreadyExists: [409, 'A resource with this name already exists.'],
  EntityTooLarge: [400, 'Your proposed upload exceeds the maximum allowed size'],
  EntityTooSmall: [400, 'Your proposed upload is smaller than the minimum allowed size'],
  ExpectationFailed: [417, 'The only supported expectation is 100-continue.'],
  IllegalVersioningConfigurationException: [400, 'The Versioning element must be specified'],
  IncompleteBody: [400, 'You did not provide the number of bytes specified by the Content-Length HTTP header.'],
  InsufficientStorage: [507, 'There is not enough space to store the data. Nothing was stored.'],
  InternalError: [500, 'We encountered an internal error. Please try again.'],
  InvalidAccessKeyId: [403, 'The Access Key Id you provided does not exist in our records.'],
  InvalidArgument: [400, 'Invalid Argument'],
  InvalidBucketAclWithObjectOwnership: [
    400,
    "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
  ],
  InvalidBucketName: [400, 'The specified bucket is not valid.'],
  InvalidBucketOwnerAWSAccountID: [400, 'The value of the expected bucket owner parameter must be an account ID.'],
  InvalidBucketState: [409, 'The request is not valid with the current state of the bucket.'],
  InvalidDigest: [400, 'The Content-MD5 you specified was invalid.'],
  InvalidLocationConstraint: [400, 'The specified location-constraint is not valid'],
  InvalidPart: [
    400,
    'One or more of the specified parts could not be found.  The part may not have been uploaded, ' +
      "or the specified entity tag may not match the part's entity tag.",
  ],
  InvalidPartNumber: [416, 'The requested partnumber is not satisfiable'],
  InvalidPartOrder: [400, 'The list of parts was not in ascending order. Parts must be ordered by part number.'],
  InvalidPolicyDocument: [400, 'Invalid Policy: the document is not valid.'],
  InvalidRange: [416, 'The requested range is not satisfiable'],
  InvalidRedirectLocation: [400, 'The website redirect location is not valid.'],
  InvalidRequest: [400, 'Invalid Request'],
  InvalidRetentionPeriod: [
    400,
    'The retention period must be a positive number of days or years, and at most a hundred years.',
  ],
  InvalidStorageClass: [400, 'The storage class you specified is not valid'],
  InvalidTargetBucketForLogging: [400, 'The target bucket does not grant log delivery or has another owner.'],
  InvalidTag: [400, 'The tag provided was not a valid tag.'],
  InvalidToken: [400, 'The provided token is malformed or otherwise invalid.'],
  InvalidURI: [400, "Couldn't parse the specified URI."],
  'KMS.DisabledException': [400, 'The encryption key of this request is disabled.'],
  'KMS.NotFoundException': [400, 'The specified encryption key does not exist.'],
  KeyInUse: [409, 'The key is in use by a locked object version.'],
  KeyTooLongError: [400, 'Your key is too long'],
  LimitExceeded: [409, 'The limit for this kind of resource is reached.'],
  MalformedACLError: [400, 'The XML you provided was not well-formed or did not validate against our published schema'],
  MalformedPOSTRequest: [400, 'The body of your POST request is not well-formed multipart/form-data.'],
  MalformedPolicy: [400, 'The policy is not valid.'],
  MalformedTrailerError: [
    400,
    'The request contained trailing data that was not well-formed or did not conform to our published schema.',
  ],
  MalformedXML: [400, 'The XML you provided was not well-formed or did not validate against our published schema'],
  MaxMessageLengthExceeded: [400, 'Your request was too big.'],
  MaxPostPreDataLengthExceededError: [400, 'Your POST request fields preceding the upload file were too large.'],
  MetadataTooLarge: [400, 'Your metadata headers exceed the maximum allowed metadata size'],
  /** Known from the second copy of the metadata. Never reported as a 404: the record is lost, not deleted. */
  MetadataDamaged: [
    500,
    'The metadata of the requested resource are damaged or lost on this server, and nothing was changed. ' +
      'They must be restored first: stop the server and run holdfast rebuild.',
  ],
  MethodNotAllowed: [405, 'The specified method is not allowed against this resource.'],
  /** The console is reached under a host name that is not its own. */
  MisdirectedRequest: [421, 'This server does not answer for this host name.'],
  MissingContentLength: [411, 'You must provide the Content-Length HTTP header.'],
  MissingRequestBodyError: [400, 'Request Body is empty'],
  MissingSecurityHeader: [400, 'Your request was missing a required header'],
  NoSuchBucket: [404, 'The specified bucket does not exist'],
  NoSuchBucketPolicy: [404, 'The bucket policy does not exist'],
  NoSuchCORSConfiguration: [404, 'The CORS configuration does not exist'],
  NoSuchEntity: [404, 'The specified account, user, key or policy does not exist.'],
  NoSuchKey: [404, 'The specified key does not exist.'],
  NoSuchLifecycleConfiguration: [404, 'The lifecycle configuration does not exist'],
  NoSuchObjectLockConfiguration: [404, 'The specified object does not have a ObjectLock configuration'],
  NoSuchPublicAccessBlockConfiguration: [404, 'The public access block configuration was not found'],
  NoSuchTagSet: [404, 'The TagSet does not exist'],
  NoSuchUpload: [
    404,
    'The specified upload does not exist. ' +
      'The upload ID may be invalid, or the upload may have been aborted or completed.',
  ],
  NoSuchVersion: [404, 'The specified version does not exist.'],
  NoSuchWebsiteConfiguration: [404, 'The specified bucket does not have a website configuration'],
  NotImplemented: [501, 'A header you provided implies functionality that is not implemented'],
  NotModified: [304, 'Not Modified'],
  ObjectLockConfigurationNotFoundError: [404, 'Object Lock configuration does not exist for this bucket'],
  OperationAborted: [409, 'A conflicting conditional operation is in progress against this resource. Try again.'],
  OwnershipControlsNotFoundError: [404, 'The bucket ownership controls were not found'],
  PreconditionFailed: [412, 'At least one of the pre-conditions you specified did not hold'],
  RequestHeaderSectionTooLarge: [400, 'Your request headers exceed the maximum allowed size.'],
  RequestTimeTooSkewed: [403, 'The difference between the request time and the current time is too large.'],
  RequestTimeout: [
    400,
    'Your socket connection to the server was not read from or written to within the timeout period.',
  ],
  ServerSideEncryptionConfigurationNotFoundError: [404, 'The server side encryption configuration was not found'],
  ServiceUnavailable: [503, 'The service is unable to handle the request. Please try again.'],
  SignatureDoesNotMatch: [
    403,
    'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
  ],
  SlowDown: [503, 'Please reduce your request rate.'],
  TooManyBuckets: [400, 'You have attempted to create more buckets than allowed'],
  TooManyRequests: [429, 'Too many attempts failed. Try again later.'],
  Unauthenticated: [401, 'The session has ended or never began. Sign in.'],
  UnexpectedContent: [400, 'This request does not support content'],
  UnresolvableGrantByEmailAddress: [400, 'The e-mail address you provided does not match any account on record.'],
  XSvcContentSHA256Mismatch: [400, 'The provided content SHA-256 does not match what was computed.'],
} as const satisfies Record<string, readonly [number, string]>

export type FaultCode = keyof typeof FAULTS

export type FaultDetails = Readonly<Record<string, string | number | boolean | undefined>>
type FaultHeaders = readonly (readonly [string, string | number | undefined])[]

export class Fault extends Error {
  readonly code: FaultCode
  readonly status: number
  readonly detail: FaultDetails
  /** Response headers by their neutral names. */
  readonly headers: FaultHeaders

  constructor(code: FaultCode, detail: FaultDetails = {}, headers: FaultHeaders = []) {
    // A fault is a normal response. Capturing its stack would cost more than many successful requests.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(FAULTS[code][1])
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'Fault'
    this.code = code
    this.status = FAULTS[code][0]
    this.detail = detail
    this.headers = headers
  }
}

/** Names the unsupported feature, which the default message does not. */
export function notImplemented(kind: 'sub-resource' | 'header' | 'element', name: string): Fault {
  const rest = kind === 'sub-resource' ? 'is not implemented' : 'implies functionality that is not implemented'
  return new Fault('NotImplemented', { Header: name, reason: `The ${kind} ${name} ${rest}` })
}

/** A required record is known to be lost. It is not a Fault, since callers may take a Fault for "does not exist". */
export class MetadataDamaged extends Error {
  constructor() {
    super(FAULTS.MetadataDamaged[1])
    this.name = 'MetadataDamaged'
  }
}

/** The fault that a client receives; undefined for an internal error. */
export function faultOf(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error
  if (error instanceof EngineUnavailable) return new Fault('ServiceUnavailable')
  return error instanceof MetadataDamaged ? new Fault('MetadataDamaged') : undefined
}
