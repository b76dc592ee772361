/** The website of a bucket: pages, or a redirect of everything. Routing rules are edited in the document. */
import { Anchor, Stack, Text, TextInput } from '@mantine/core'
import { useSession } from '../api/session.tsx'
import { Link, toBucketAccess } from '../router.tsx'
import { rulesTexts } from '../texts/rules.ts'
import { Choice, Hint, NothingYet, type RuleFormProps, UnknownElements } from './form-frame.tsx'
import classes from './rules.module.css'
import { type WebsiteFields as Fields, NEW_WEBSITE, readWebsite, websiteElement } from './small-documents.ts'

const t = rulesTexts.website

interface PartProps {
  readonly form: Fields
  readonly set: (part: Partial<Fields>) => void
  readonly isDisabled: boolean
}

function Pages({ form, set, isDisabled }: PartProps) {
  return (
    <div className={classes.fields}>
      <TextInput
        label={t.index}
        description={t.indexHint}
        value={form.index}
        disabled={isDisabled}
        onChange={event => set({ index: event.currentTarget.value })}
      />
      <TextInput
        label={t.error}
        description={t.errorHint}
        value={form.error}
        disabled={isDisabled}
        onChange={event => set({ error: event.currentTarget.value })}
      />
    </div>
  )
}

function Redirection({ form, set, isDisabled }: PartProps) {
  return (
    <div className={classes.fields}>
      <TextInput
        label={t.hostName}
        description={t.hostNameHint}
        value={form.hostName}
        disabled={isDisabled}
        onChange={event => set({ hostName: event.currentTarget.value })}
      />
      <Choice
        label={t.protocol}
        description={t.protocolHint}
        value={form.protocol}
        texts={t.protocols}
        onChange={protocol => set({ protocol })}
        isDisabled={isDisabled}
      />
    </div>
  )
}

/** Websites have the scheme and the port of the object API, and a host name of their own. */
function Addresses({ bucket }: { readonly bucket: string }) {
  const { objectUrl, websiteHosts } = useSession()
  const { protocol, port } = new URL(objectUrl)
  const urls = websiteHosts.map(host => `${protocol}//${bucket}.${host}${port === '' ? '' : `:${port}`}/`)
  if (urls.length === 0) return null
  return (
    <div>
      <Text>
        {t.address}{' '}
        {urls.map(url => (
          <Anchor key={url} href={url} target="_blank" rel="noopener noreferrer" mr="xs" className={classes.key}>
            {url}
          </Anchor>
        ))}
      </Text>
      <Hint>{t.dns}</Hint>
    </div>
  )
}

export function WebsiteForm({ bucket, root, change, mayChange }: RuleFormProps) {
  if (root === undefined) {
    const start = (): void => change(websiteElement(NEW_WEBSITE))
    return <NothingYet icon="file" texts={t} start={t.start} onStart={start} mayChange={mayChange} />
  }
  const { form, unknown } = readWebsite(root)
  const isDisabled = !mayChange || unknown.length > 0
  const set = (part: Partial<Fields>): void => change(websiteElement({ ...form, ...part }))
  return (
    <Stack className={classes.whole}>
      <UnknownElements names={unknown} />
      <div className={classes.fields}>
        <Choice
          label={t.kind}
          value={form.kind}
          texts={t.kinds}
          onChange={kind => set({ kind, index: form.index || NEW_WEBSITE.index })}
          isDisabled={isDisabled || form.routing.length > 0}
          {...(form.routing.length > 0 ? { description: t.kindFixed } : {})}
        />
      </div>
      {form.kind === 'pages' ? (
        <Pages {...{ form, set, isDisabled }} />
      ) : (
        <Redirection {...{ form, set, isDisabled }} />
      )}
      {form.routing.length > 0 && <Hint>{t.routing(form.routing.length)}</Hint>}
      <Addresses bucket={bucket.name} />
      {form.kind === 'pages' && (
        <Hint>
          {t.public} <Link href={toBucketAccess(bucket.name)}>{t.toAccess}</Link>
        </Hint>
      )}
    </Stack>
  )
}
