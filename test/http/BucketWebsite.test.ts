import { documentSuite } from './bucket-documents.ts'

const site = (inside: string): string => `<WebsiteConfiguration>${inside}</WebsiteConfiguration>`
const INDEX = '<IndexDocument><Suffix>index.html</Suffix></IndexDocument>'
const rules = (inside: string): string => site(`${INDEX}<RoutingRules>${inside}</RoutingRules>`)
const redirect = (inside: string): string => rules(`<RoutingRule><Redirect>${inside}</Redirect></RoutingRule>`)

documentSuite('BucketWebsite (GetBucketWebsite, PutBucketWebsite, DeleteBucketWebsite)', {
  query: 'website',
  good: site(
    `${INDEX}<ErrorDocument><Key>error.html</Key></ErrorDocument><RoutingRules><RoutingRule><Condition>` +
      '<KeyPrefixEquals>docs/</KeyPrefixEquals></Condition><Redirect><ReplaceKeyPrefixWith>documents/' +
      '</ReplaceKeyPrefixWith><HttpRedirectCode>302</HttpRedirectCode></Redirect></RoutingRule></RoutingRules>',
  ),
  absent: 'NoSuchWebsiteConfiguration',
  removable: true,
  bad: [
    ['nothing', site(''), 'InvalidArgument'],
    ['empty suffix', site('<IndexDocument><Suffix></Suffix></IndexDocument>'), 'InvalidArgument'],
    ['slash in suffix', site('<IndexDocument><Suffix>a/b</Suffix></IndexDocument>'), 'InvalidArgument'],
    ['empty error key', site(`${INDEX}<ErrorDocument><Key></Key></ErrorDocument>`), 'InvalidArgument'],
    [
      'redirect of everything beside an index',
      site(`${INDEX}<RedirectAllRequestsTo><HostName>a.example</HostName></RedirectAllRequestsTo>`),
      'InvalidArgument',
    ],
    ['redirect to nowhere', site('<RedirectAllRequestsTo/>'), 'MalformedXML'],
    [
      'redirect by another protocol',
      site('<RedirectAllRequestsTo><HostName>a</HostName><Protocol>javascript</Protocol></RedirectAllRequestsTo>'),
      'InvalidRequest',
    ],
    [
      'A84: CR LF in a host name',
      site('<RedirectAllRequestsTo><HostName>a&#13;&#10;b</HostName></RedirectAllRequestsTo>'),
      'InvalidRequest',
    ],
    [
      '51 rules',
      rules('<RoutingRule><Redirect><HostName>a</HostName></Redirect></RoutingRule>'.repeat(51)),
      'InvalidRequest',
    ],
    ['no redirect', rules('<RoutingRule/>'), 'MalformedXML'],
    ['an empty redirect', redirect(''), 'MalformedXML'],
    [
      'A65: more references than can be read again',
      rules(
        `<RoutingRule><Condition><KeyPrefixEquals>${'"'.repeat(101_000)}</KeyPrefixEquals></Condition>` +
          '<Redirect><HostName>a</HostName></Redirect></RoutingRule>',
      ),
      'MalformedXML',
    ],
    [
      'both replacements',
      redirect('<ReplaceKeyWith>a</ReplaceKeyWith><ReplaceKeyPrefixWith>b</ReplaceKeyPrefixWith>'),
      'InvalidRequest',
    ],
    ['a status that redirects nowhere', redirect('<HttpRedirectCode>200</HttpRedirectCode>'), 'InvalidRequest'],
    [
      'an empty condition',
      rules('<RoutingRule><Condition/><Redirect><HostName>a</HostName></Redirect></RoutingRule>'),
      'InvalidRequest',
    ],
  ],
})
