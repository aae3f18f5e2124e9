/** A custom report: a bare array with a deletion flag and with parameters of its own. */
import { boolean, dateTime, defineReport, integer, string } from '../../schema/report.ts'

export const roomKeys = defineReport({
  name: 'room_keys',
  meaning: 'Keys of rooms',
  path: '/v2/Rooms/Keys',
  answer: 'array',
  key: ['key_id'],
  fields: {
    keyId: integer('Unique key identifier'),
    room: string('Name of the room'),
    changedAt: dateTime('When the key was last changed'),
    isGone: boolean('Whether the key is deleted'),
  },
  newerBy: ['changed_at'],
  window: { since: 'since', until: 'until', required: true },
  deletes: 'flag',
  deletedFlag: 'isGone',
  includeDeleted: 'withGone',
})
