/* One job and two workers, as jobs/ runs them. tools/check_model.py explores every interleaving.

   The names of the steps are those of the code:

     claim      jobs.claim of migration 0032      one statement gives the job to a worker, with the next attempt
     act        jobs/job_run.py                   what the handler asks of a vendor, while may_act() says yes
     finish     jobs.finish                       counts only for the worker and attempt that hold the job
     reap       jobs.reap                         a worker whose beat stood still for 5/6 of a lease, as another sees it
     give up    jobs/worker.py                    a worker that has not beaten for two thirds of it stops its jobs

   A worker's hold is its own monotonic clock's word: less than two thirds of a lease have passed since its last beat.
   Others wait for five sixths of one by theirs. So a reap meets a worker only that was killed, has given up, or is frozen.

   Variants (-D):
     ONCE         the job may not be run twice (its tool is not idempotent)
     CRASH        a worker may be killed at any step, three times in all, and starts anew
     CUT_OFF      a worker may lose the database for so long that it gives up, twice in all
     FROZEN       a worker may be stopped for longer than a lease, but not between may_act() and the vendor's answer
     FROZEN_CALL  or there, too: what nobody can prevent
     WALL_CLOCK   leases end by the database's clock, which may jump (what we do not do)
     NO_FENCE     an outcome counts whoever brings it (what we do not do)
     REPEAT       what may not be run twice is queued again as well (what we do not do)  */

#define QUEUED 0
#define RUNNING 1
#define SUCCEEDED 2
#define FAILED 3
#define UNKNOWN 4

byte state = QUEUED;          /* jobs.jobs */
byte owner = 0;
byte attempt = 0;
#ifdef ONCE
byte retries = 0;                /* retries_left */
#else
byte retries = 2;
#endif

bool registered[3];           /* jobs.workers */
bool alive[3];
bool holds[3];                /* holds_lease() */
bool frozen[3];
bool acting[3];               /* a request is under way */
byte effects = 0;             /* requests that the vendor has carried out */
byte deaths = 0;
byte outages = 0;
byte freezes = 0;
bool changed_again = false;   /* a final state was replaced */
bool unfounded = false;       /* an outcome was stored of an attempt that held the job no more */

inline maybe_killed() {
#ifdef CRASH
  if
  :: atomic { deaths < 3 -> deaths++; alive[me] = false; holds[me] = false; acting[me] = false; goto started }
  :: skip
  fi
#else
  skip
#endif
}

inline finish() {
  atomic {
    if
#ifdef NO_FENCE
    :: changed_again = changed_again || state >= SUCCEEDED;
       unfounded = unfounded || state != RUNNING || owner != me || attempt != mine;
       state = SUCCEEDED; owner = 0
#else
    :: state == RUNNING && owner == me && attempt == mine -> state = SUCCEEDED; owner = 0
    :: else -> skip                                      /* "the outcome of a job counts no more" */
#endif
    fi
  }
}

proctype worker(byte me) {
  byte mine;
started:
  /* A new process has a new id: the old one's row is found lost by others first. */
  atomic { !registered[me] || state >= SUCCEEDED -> alive[me] = true; registered[me] = true; frozen[me] = false; holds[me] = true }
  do
  :: atomic { state >= SUCCEEDED -> break }
  :: atomic { !registered[me] && !frozen[me] && state < SUCCEEDED -> registered[me] = true; holds[me] = true }
  :: atomic { registered[me] && state == QUEUED && !frozen[me] ->
       state = RUNNING; owner = me; attempt++; mine = attempt; holds[me] = true }
     maybe_killed();
     do
     :: atomic { !frozen[me] && holds[me] -> acting[me] = true }
        maybe_killed();
        if
        :: atomic { acting[me] -> effects++; acting[me] = false }
           maybe_killed();
           !frozen[me];
           finish();
           break
        :: atomic { !acting[me] -> break }                /* given up while it asked */
        fi
     :: atomic { !frozen[me] && !holds[me] -> break }     /* may_act() says no */
     od;
     maybe_killed()
  od
}

inline reap(who) {
  registered[who] = false;
  if
#ifdef REPEAT
  :: state == RUNNING && owner == who -> state = QUEUED; owner = 0
#else
  :: state == RUNNING && owner == who && retries > 0 -> retries--; state = QUEUED; owner = 0
#ifdef ONCE
  :: state == RUNNING && owner == who && retries == 0 -> state = UNKNOWN; owner = 0
#else
  :: state == RUNNING && owner == who && retries == 0 -> state = FAILED; owner = 0
#endif
#endif
  :: else -> skip
  fi
}

/* Time, and whoever looks. */
proctype world(byte who) {
  do
  :: atomic { state >= SUCCEEDED -> break }
  :: atomic { registered[who] && !holds[who] -> reap(who) }
#ifdef WALL_CLOCK
  :: atomic { registered[who] && state == RUNNING && owner == who && outages < 2 -> outages++; reap(who) }
#endif
#ifdef CUT_OFF
  /* The worker gives up by itself: what it asks is cut. */
  :: atomic { alive[who] && holds[who] && registered[who] && !frozen[who] && outages < 2 ->
       outages++; holds[who] = false; acting[who] = false }
#endif
#ifdef FROZEN
  :: atomic { alive[who] && !frozen[who] && !acting[who] && freezes < 2 -> freezes++; frozen[who] = true; holds[who] = false }
  :: atomic { frozen[who] -> frozen[who] = false }
#endif
#ifdef FROZEN_CALL
  :: atomic { alive[who] && !frozen[who] && acting[who] && freezes < 2 -> freezes++; frozen[who] = true; holds[who] = false }
  :: atomic { frozen[who] -> frozen[who] = false }
#endif
  od
}

init { atomic { run worker(1); run worker(2); run world(1); run world(2) } }

ltl single  { [] !(acting[1] && acting[2]) }      /* never two workers at once on one job                        */
#ifdef ONCE
ltl once    { [] (effects <= 1) }                 /* what may not be repeated takes effect at most once          */
#else
ltl once    { [] (effects <= 3) }                 /* three attempts and no more                                  */
#endif
ltl final   { [] !changed_again }                 /* an outcome stays                                            */
ltl fenced  { [] !unfounded }                     /* and is that of the attempt that held the job                */
ltl told    { <> (state >= SUCCEEDED) }           /* no job is lost: each ends, and its person is told how       */
