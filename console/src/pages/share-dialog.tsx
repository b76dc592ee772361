/** Makes a link to one object that is valid for a while. */
import { Button, CopyButton, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { encode } from 'uqr'
import { timeText } from '../format.ts'
import { downloadLink } from '../objects/downloads.ts'
import type { ObjectPlace } from '../objects/object-place.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { texts } from '../texts/texts.ts'
import classes from './share-dialog.module.css'

const t = texts.share
const DURATIONS = Object.entries(t.durations).map(([value, label]) => ({ value, label }))

function QrCode({ text }: { readonly text: string }) {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { border: 2 })
    const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
    return { size, path }
  }, [text])
  return (
    <svg className={classes.code} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t.qr}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

function Result({ url, until }: { readonly url: string; readonly until: Date }) {
  return (
    <Stack>
      <Text role="status">{t.until(timeText(until))}</Text>
      <Textarea label={t.link} value={url} readOnly rows={4} onFocus={event => event.currentTarget.select()} />
      <CopyButton value={url}>
        {({ copied, copy }) => <Button onClick={copy}>{copied ? texts.copied : t.copyLink}</Button>}
      </CopyButton>
      <QrCode text={url} />
    </Stack>
  )
}

export default function ShareDialog({ place, close }: { readonly place: ObjectPlace; readonly close: () => void }) {
  const [seconds, setSeconds] = useState(DURATIONS[0]!.value)
  const making = useMutation({
    mutationFn: async () => {
      const until = new Date(Date.now() + Number(seconds) * 1000)
      return { url: await downloadLink(place, Number(seconds)), until }
    },
  })
  return (
    <Dialog title={t.title} close={close}>
      <Stack>
        <Text>{t.text}</Text>
        {making.error !== null && <Problem error={making.error} />}
        <Group align="flex-end">
          <NativeSelect
            label={t.expiry}
            data={DURATIONS}
            value={seconds}
            onChange={event => {
              setSeconds(event.currentTarget.value)
              making.reset()
            }}
          />
          <Button loading={making.isPending} onClick={() => making.mutate()}>
            {t.make}
          </Button>
        </Group>
        {making.data !== undefined && <Result {...making.data} />}
      </Stack>
    </Dialog>
  )
}
