/** The title of a page. A name may have a thousand characters: three lines of it are shown, and the rest on demand. */
import { Button, Title } from '@mantine/core'
import { useLayoutEffect, useRef, useState } from 'react'
import { texts } from '../texts/texts.ts'
import classes from './clamped-title.module.css'

/** Whether a text is longer than the lines it has, in the present width. */
function useIsCut(text: string, isWhole: boolean) {
  const element = useRef<HTMLHeadingElement>(null)
  const [isCut, setCut] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text may need other lines.
  useLayoutEffect(() => {
    const heading = element.current!
    // The whole text does not tell how long the clamped one would be.
    if (isWhole) return undefined
    const measure = (): void => setCut(heading.scrollHeight > heading.clientHeight + 1)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(heading)
    return () => observer.disconnect()
  }, [text, isWhole])
  return { element, isCut }
}

export function ClampedTitle({ title }: { readonly title: string }) {
  const [shown, setShown] = useState<string>()
  const isWhole = shown === title
  const { element, isCut } = useIsCut(title, isWhole)
  return (
    <>
      <Title ref={element} order={1} size="h2" className={classes.text} data-clamped={!isWhole}>
        {title}
      </Title>
      {isCut && (
        <Button
          size="compact-xs"
          variant="default"
          aria-expanded={isWhole}
          onClick={() => setShown(isWhole ? undefined : title)}
        >
          {isWhole ? texts.showLess : texts.showAll}
        </Button>
      )}
    </>
  )
}
