/** Texts of uploads that were begun and not completed. */
import { counted } from './texts.ts'

export const unfinishedTexts = {
  title: 'Unfinished uploads',
  text: 'Parts of large files that arrived take space until their upload is completed or aborted.',
  none: 'There are none.',
  notReadable: 'You may not list the uploads of this bucket.',
  key: 'Object',
  begun: 'Begun',
  initiator: 'By',
  actions: 'Actions',
  abort: 'Abort',
  abortOf: (key: string) => `Abort the upload of ${key}`,
  confirmTitle: 'Abort the upload?',
  confirm: (key: string) =>
    `The parts of ${key} that arrived are deleted. If it is still being sent, that fails and has to begin again.`,
  aborted: (key: string) => `The upload of ${key} was aborted.`,
  more: 'Show more',
  interruptedTitle: (count: number) => `${counted(count, 'upload was', 'uploads were')} interrupted`,
  interruptedText: 'Choose the same file again to go on where it stopped. Parts that arrived are not sent twice.',
  discard: 'Discard',
  discardOf: (name: string) => `Discard the upload of ${name}`,
} as const
