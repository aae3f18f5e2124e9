/**
 * Events: the only report with a soft-delete flag, and the only one whose modification time also changes when one of
 * its items changes (spec §2, §4).
 */
import { boolean, dateTime, defineReport, integer, many, one, string } from '../report.ts'

export const events = defineReport({
  name: 'events',
  meaning: 'Event modifications',
  path: '/v1/EventReport/GetEventsReport',
  answer: 'array',
  scope: 'event.read',
  key: ['event_id'],
  fields: {
    eventId: integer('Unique event identifier'),
    name: string('Display name', ['eventName']),
    startDate: dateTime('Start date and time'),
    endDate: dateTime('End date and time'),
    status: string('Current status of the event; the specification lists no values'),
    formType: string('Form type associated with the event'),
    location: string('Location text'),
    attendees: integer('Total attendees'),
    inPersonAttendees: integer('In-person attendees'),
    externalId: string('External identifier'),
    town: string('Town or city'),
    paymentMethod: string('Payment method'),
    companyId: integer('Owning company identifier'),
    affiliateId: integer('Affiliate group identifier, if applicable'),
    externalUrl: string('External URL'),
    recordCreated: dateTime('Creation time'),
    recordModified: dateTime('Changes only when the event itself is edited', ['modifiedAt']),
    aggregateRecordModified: dateTime(
      'Changes when the event or any child record is added, updated or soft-deleted. Child records: meeting rooms, accommodations, commissions, assignments, entity links, permissions, operations records, cancellation records, extended properties',
      ['modifiedAt'],
    ),
    isDeleted: boolean('Whether the event is soft-deleted'),
    totalChanges: integer(
      'Number of modifications recorded in the period (summary shape only): in the window of the request that brought this version (tidemark.windows, by _load_id), not since the creation of the event',
    ),
  },
  newerBy: ['aggregate_record_modified', 'record_modified'],
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: true },
  deletes: 'flag',
  deletedFlag: 'isDeleted',
  includeDeleted: 'includeDeleted',
  expand: {
    meetingRooms: many('meetingRooms'),
    accommodations: many('accommodations'),
    commissions: one('commission'),
    entityLinks: many('entityLinks'),
    permissions: many('permissions'),
    operationsRecord: one('operationsRecord'),
    assignments: many('assignments'),
    cancellationRecord: one('cancellationRecord'),
    extendedProperties: many('extendedProperties'),
  },
  filters: { companyId: 'integer', affiliateGroupId: 'integer', eventId: 'integer' },
})
