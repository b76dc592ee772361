/**
 * Shows what is in an object. Nothing of it ever runs: text is shown as text, pictures and media by elements that run
 * no scripts, all else in a frame without any rights, on the address of the object API.
 */
import { Alert, Anchor, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { visibleText } from '../format.ts'
import { type ObjectDetails, versionQuery } from '../objects/details.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { presign } from '../objects/presign.ts'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import classes from './object-preview.module.css'
import { previewKind, readText, TEXT_BYTES_MAX } from './preview-kind.ts'

const t = texts.preview

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function TextPreview({ place, details }: { readonly place: ObjectPlace; readonly details: ObjectDetails }) {
  const { bucket, key, versionId } = place
  const { data, error } = useQuery({
    queryKey: ['text', bucket, key, details.versionId, details.etag],
    queryFn: () => readText({ bucket, key, versionId }, details.size),
  })
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return <Skeleton height={200} aria-label={texts.loading} />
  const isJson = /json/.test(details.contentType) || key.endsWith('.json')
  return (
    <Stack gap="xs">
      {details.size > TEXT_BYTES_MAX && <Text size="sm">{t.tooLarge(TEXT_BYTES_MAX)}</Text>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard. */}
      <pre className={classes.text} tabIndex={0} role="region" aria-label={t.frame(visibleText(key))}>
        {isJson ? indented(data) : data}
      </pre>
    </Stack>
  )
}

function LinkedPreview({ place, kind, url }: { place: ObjectPlace; kind: string; url: string }) {
  const label = t.frame(visibleText(place.key))
  if (kind === 'image') return <img className={classes.media} src={url} alt={label} referrerPolicy="no-referrer" />
  // biome-ignore lint/a11y/useMediaCaption: captions, if there are any, are objects of their own.
  if (kind === 'audio') return <audio className={classes.audio} src={url} controls aria-label={label} />
  // biome-ignore lint/a11y/useMediaCaption: captions, if there are any, are objects of their own.
  if (kind === 'video') return <video className={classes.media} src={url} controls aria-label={label} />
  if (kind === 'pdf') {
    return (
      <Stack align="flex-start">
        <Text>{t.pdf}</Text>
        <Anchor href={url} target="_blank" rel="noopener noreferrer">
          {t.openPdf}
        </Anchor>
      </Stack>
    )
  }
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {t.isolated}
      </Text>
      <iframe className={classes.frame} sandbox="" src={url} title={label} referrerPolicy="no-referrer" />
    </Stack>
  )
}

function Linked({ place, kind }: { readonly place: ObjectPlace; readonly kind: string }) {
  const { bucket, key, versionId } = place
  const { data: signed, error } = useQuery({
    queryKey: ['link', bucket, key, versionId],
    queryFn: () => presign({ method: 'GET', bucket, key, query: versionQuery(versionId) }),
    staleTime: 600_000,
  })
  if (error !== null) return <Problem error={error} />
  if (signed === undefined) return <Skeleton height={200} aria-label={texts.loading} />
  return <LinkedPreview place={place} kind={kind} url={signed.url} />
}

export default function ObjectPreview(props: { readonly place: ObjectPlace; readonly details: ObjectDetails }) {
  const { place, details } = props
  const kind = previewKind(details.contentType, place.key)
  if (details.size === 0) return <Alert variant="outline">{t.empty}</Alert>
  if (kind === 'none') return <Alert variant="outline">{t.none}</Alert>
  return kind === 'text' ? <TextPreview {...props} /> : <Linked place={place} kind={kind} />
}
