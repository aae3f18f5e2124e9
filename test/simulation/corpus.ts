/**
 * Seeds that once found something. A seed is a whole history, so each stays a test of what it found as long as what a
 * seed draws stays as it is. share.ts runs each of them once, with the short or with the long tests.
 */
export interface CorpusSeed {
  readonly seed: number
  readonly found: string
  /** True if the seed takes more than three seconds of processor time. */
  readonly isSlow?: true
}

export const CORPUS: readonly CorpusSeed[] = [
  { seed: 20, found: 'a full disk right behind a COMMIT left a process that knew nothing of the columns it had made' },
  { seed: 219, found: 'a page of one row counted as full for ever: a row came while the last page was shown again' },
  {
    seed: 224,
    found: 'a budget was marked as deleted, since it came malformed in the second read, its key in plain sight',
  },
  {
    seed: 321,
    isSlow: true,
    found: 'children could not be loaded: no item came of a collection whose fields were known',
  },
  { seed: 352, found: 'a row without a key that came on two pages stood in for one that never came' },
  {
    seed: 369,
    isSlow: true,
    found: 'exactly a full page at one instant, shown again as page 2, ended in WALK_UNSTABLE for ever',
  },
  {
    seed: 554,
    found: 'two walks agreed, although one of them had a row without a key twice in place of another row',
  },
  {
    seed: 571,
    isSlow: true,
    found: 'a first page had more rows than its total, and was taken for a last page that the service repeats',
  },
  { seed: 1310, found: 'two reports that looked side by side for what pages count from misled each other' },
  {
    seed: 859,
    isSlow: true,
    found: 'children could not be loaded: a statement named a field that the load did not carry',
  },
  { seed: 3_003, found: 'a backfill that had begun was refused once our clock had been set back before its end' },
  {
    seed: 3_200,
    isSlow: true,
    found: 'a row that entered an old span moved another to a page that was read before: it was lost',
  },
  {
    seed: 3_921,
    isSlow: true,
    found: 'a row was edited while it was looked for: pages counted from 0 were read from 1 on',
  },
  { seed: 697, found: 'a row left between the pages of one row: pages counted from 0 were read from 1 on' },
  { seed: 6_031, found: 'the same as 3921, with a row that is edited every second' },
  { seed: 5_475, found: 'a value was lost: a page that was read meanwhile changed how half of a statement read it' },
  {
    seed: 6_499,
    isSlow: true,
    found: 'a row without a key, alone on a page that is shown for every number, kept a walk from its end',
  },
  {
    seed: 8_535,
    isSlow: true,
    found:
      'deleted budgets looked alive: pages of a walk that was cut off were loaded before the second read of their span',
  },
  { seed: 9_394, found: 'the same as 6499, in a walk that came to no end at all' },
  {
    seed: 9_409,
    isSlow: true,
    found: 'a full page that came again counted as the last by a total that lied, where page numbers were ignored',
  },
  {
    seed: 3_808,
    found: 'an audit entry came while page 0 was tried, and the trail was proven without that page',
  },
  {
    seed: 4_482,
    found: 'a trail of several pages, counted from 0, the last one shown for every later number, was never read',
  },
  { seed: 5_373, found: 'a row without a key that a limit hid was not looked for in narrower spans' },
  { seed: 2_721, found: 'rows behind a hidden limit were lost where the total fell while the same page came again' },
  { seed: 8_887, found: 'page 0 was not tried where the total fell between two pages of the second walk' },
  { seed: 9_723, found: 'four of 30 rows counted as everything: page numbers were ignored in a read without bounds' },
  { seed: 664, found: 'the same as 4482, for enquiries' },
  {
    seed: 2_749,
    found:
      'a service that counts pages from 0 was taken for one that counts from 1: its rows left while page 0 was tried',
  },
  {
    seed: 9_551,
    found: 'a full page of one row, learned while rows moved, ended every run in WALK_UNSTABLE',
  },
  { seed: 3_013, found: 'a budget whose stamp went back between two reads was marked as deleted' },
  { seed: 3_646, found: 'an event whose stamps went back before `start` was marked as deleted by two reconciles' },
  { seed: 673, found: 'rows behind a limit were lost that began after a longer response was proven to be whole' },
  { seed: 631, found: 'the same as 673, for events' },
  { seed: 5_029, found: 'once broke the engine, or the simulation itself' },
]
