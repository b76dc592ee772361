/** A valid document of every kind that a client sends, with as many elements as possible. */

export const LIFECYCLE =
  '<LifecycleConfiguration><Rule><ID>old</ID><Status>Enabled</Status><Filter><And><Prefix>logs/</Prefix><Tag>' +
  '<Key>a</Key><Value>b</Value></Tag><ObjectSizeGreaterThan>10</ObjectSizeGreaterThan></And></Filter><Expiration>' +
  '<Days>30</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays>' +
  '<NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule><Rule><ID>stale</ID>' +
  '<Status>Disabled</Status><Filter><Prefix></Prefix></Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>7' +
  '</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>'

export const CORS =
  '<CORSConfiguration><CORSRule><ID>one</ID><AllowedOrigin>http://*.example.com</AllowedOrigin><AllowedMethod>GET' +
  '</AllowedMethod><AllowedMethod>PUT</AllowedMethod><AllowedHeader>x-*</AllowedHeader><ExposeHeader>ETag' +
  '</ExposeHeader><MaxAgeSeconds>3000</MaxAgeSeconds></CORSRule></CORSConfiguration>'

export const WEBSITE =
  '<WebsiteConfiguration><IndexDocument><Suffix>index.html</Suffix></IndexDocument><ErrorDocument><Key>error.html' +
  '</Key></ErrorDocument><RoutingRules><RoutingRule><Condition><KeyPrefixEquals>docs/</KeyPrefixEquals></Condition>' +
  '<Redirect><ReplaceKeyPrefixWith>documents/</ReplaceKeyPrefixWith><HttpRedirectCode>302</HttpRedirectCode>' +
  '</Redirect></RoutingRule></RoutingRules></WebsiteConfiguration>'

export const ENCRYPTION =
  '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>' +
  '</ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule>' +
  '</ServerSideEncryptionConfiguration>'

/** Empty: a target would have to exist. */
export const LOGGING = '<BucketLoggingStatus> </BucketLoggingStatus>'

export const TAGGING =
  '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag><Tag><Key>c</Key><Value></Value></Tag></TagSet></Tagging>'

export const VERSIONING = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'

export const REQUEST_PAYMENT = '<RequestPaymentConfiguration><Payer>BucketOwner</Payer></RequestPaymentConfiguration>'

export const PUBLIC_ACCESS_BLOCK =
  '<PublicAccessBlockConfiguration><BlockPublicAcls>false</BlockPublicAcls><IgnorePublicAcls>false</IgnorePublicAcls>' +
  '<BlockPublicPolicy>false</BlockPublicPolicy><RestrictPublicBuckets>false</RestrictPublicBuckets>' +
  '</PublicAccessBlockConfiguration>'

export const OWNERSHIP =
  '<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>'

export const OBJECT_LOCK =
  '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>'

export const LEGAL_HOLD = '<LegalHold><Status>ON</Status></LegalHold>'

export const retention = (until: string): string =>
  `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>${until}</RetainUntilDate></Retention>`

export const acl = (owner: string): string =>
  `<AccessControlPolicy><Owner><ID>${owner}</ID></Owner><AccessControlList><Grant><Grantee ` +
  `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>${owner}</ID></Grantee>` +
  '<Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>'

export const LOCATION =
  '<CreateBucketConfiguration><LocationConstraint>us-east-1</LocationConstraint></CreateBucketConfiguration>'

export const batch = (key: string): string =>
  `<Delete><Object><Key>${key}</Key></Object><Object><Key>other</Key></Object><Quiet>false</Quiet></Delete>`

export const partList = (etag: string): string =>
  `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`

export const policy = (bucket: string): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Id: 'p',
    Statement: [
      {
        Sid: 'one',
        Effect: 'Allow',
        Principal: { SVC: ['222222222222'] },
        Action: ['svc:GetObject', 'svc:List*'],
        Resource: [`arn:svc:svc:::${bucket}/public/*`, `arn:svc:svc:::${bucket}`],
        Condition: { StringLike: { 'svc:prefix': ['public/*'] }, IpAddress: { 'svc:SourceIp': '10.0.0.0/8' } },
      },
    ],
  })
