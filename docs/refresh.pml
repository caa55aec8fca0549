/* The refresh of one account, as broker/refresh runs it. tools/check-model explores every interleaving.

   Two broker processes share one account at a vendor whose refresh tokens rotate and are single use. The names of the
   steps are those of the code:

     claim     broker/refresh/claim.py          one statement takes the lease and commits the intent
     present   broker/refresh/refresher.py      one call to the vendor
     settle    broker/refresh/outcome.py        store by compare-and-set, or keep the answer as a candidate
               broker/refresh/reauth.py         handle_refusal: adopt a candidate, else ask the owner to come back
     recover   broker/refresh/decision.py       an intent without an outcome, by the vendor's profile

   Where a process may be killed, the model names the points at which the fault table (test_fault_matrix.py) kills a
   real one: in brackets.

   Variants (-D):
     CRASH      one process may be killed at any step, and starts anew (kill -9)
     SPOOL      what a killed process had been granted lies in its spool, and is stored when it starts again
     FROZEN     a process may be stopped past its lease, with the answer in its hand or before it has one to send
     NO_RETRY   the database is away when the answer comes, and the write is not repeated (what we do not do)
     GRACE      the vendor answers a repeated use of the newest spent token with the same new token
     TTL_LOCK   the lock may run out while its holder still waits for the vendor (what we do not do)
     NO_FENCE   a late writer overwrites whatever is stored (what we do not do)

   A lease outlives the call's hard deadline, and a process that wakes up later than that sends nothing (may_send in
   present.py); so a lease never runs out during a call. Where the holder lives, it stores its answer before another
   shows the token again: the write is repeated every 0.1 s, and after a lease that ran out others wait for 2 s more.  */

#define MOST 3                /* refreshes that are looked at */

byte vendor_valid = 1;        /* the refresh token that the vendor accepts                                        */
bool vendor_dead = false;     /* the grant was revoked because a spent token was shown again                      */

byte row_token = 1;           /* vault.accounts: the refresh token                                                */
byte row_version = 1;
byte row_owner = 0;           /* lease_owner                                                                      */
bool row_uncertain = false;
bool row_alive = false;       /* the access token still lives                                                     */
bool row_reauth = false;      /* status = needs_reauth                                                            */
byte candidate = 0;           /* vault.candidates: an unused refresh token                                        */

bool calling[3];              /* a call to the vendor is under way                                                */
bool holding[3];              /* between claim and settle, in a process that lives                                */
byte spooled_token[3];        /* the answer on this machine's disk                                                */
byte spooled_version[3];
byte refreshes = 0;
byte crashes = 0;
byte shown = 0;               /* the newest token that was shown                                                  */
bool shown_again_alive = false; /* a token was shown twice while the access token lived (a strict vendor)         */
bool blamed = false;          /* the owner was told "revoked" for what was our loss                               */
bool unlabelled = false;      /* the grant died of a reuse, and the row does not say that it was uncertain         */

inline vendor(token, answer) {
  atomic {
    if
    :: vendor_dead -> answer = 0
    :: !vendor_dead && token == vendor_valid -> vendor_valid++; answer = vendor_valid
#ifdef GRACE
    :: !vendor_dead && token + 1 == vendor_valid -> answer = vendor_valid
    :: !vendor_dead && token + 1 < vendor_valid -> vendor_dead = true; answer = 0
#else
    :: !vendor_dead && token < vendor_valid -> vendor_dead = true; answer = 0
#endif
    fi
  }
}

inline maybe_killed() {
#ifdef CRASH
  if
  :: atomic { crashes < 1 -> crashes++; calling[me] = false; holding[me] = false; goto started }
  :: skip
  fi
#else
  skip
#endif
}

/* settle, where the vendor granted: store.py */
inline store(token, version, owner) {
  atomic {
    if
#ifdef NO_FENCE
    :: row_token = token; row_version++; row_owner = 0; row_uncertain = false; row_alive = true; refreshes++
#else
    :: row_version == version && row_owner == owner ->                            /* STORED */
         row_token = token; row_version++; row_owner = 0; row_uncertain = false; row_alive = true; row_reauth = false;
         candidate = 0; refreshes++
    :: row_version == version && row_owner == 0 ->                                /* TAKEN_LATE */
         row_token = token; row_version++; row_uncertain = true; row_alive = true; row_reauth = false; refreshes++
    :: row_version == version && row_owner != 0 && row_owner != owner -> candidate = token  /* CANDIDATE */
    :: row_version != version && row_token == token -> skip                       /* ALREADY */
    :: row_version != version && row_token != token -> candidate = token          /* CANDIDATE */
#endif
    fi
  }
}

/* settle, where the vendor refused: handle_refusal of reauth.py */
inline refused(version, owner) {
  atomic {
    if
    :: row_version == version && !row_reauth && (row_owner == owner || row_owner == 0) ->
         if
         :: candidate != 0 ->                                                     /* adopted: the next attempt shows it */
              row_token = candidate; candidate = 0; row_version++; row_owner = 0; row_uncertain = true
         :: candidate == 0 ->
              row_reauth = true; row_owner = 0; blamed = blamed || !row_uncertain;
              unlabelled = unlabelled || (vendor_dead && !row_uncertain)
         fi
    :: else -> skip
    fi
  }
}

proctype broker(byte me) {
  byte token, version, answer;
started:
#ifdef SPOOL
  if
  :: atomic { spooled_token[me] != 0 -> token = spooled_token[me]; version = spooled_version[me] }
       store(token, version, me);
       spooled_token[me] = 0
  :: spooled_token[me] == 0 -> skip
  fi;
#endif
  do
  :: atomic { refreshes >= MOST || row_reauth -> break }
  /* [before_claim] claim; recover: of an uncertain row only when the access token has ended, unless the vendor has a grace */
#ifdef GRACE
  :: atomic { row_owner == 0 && !row_reauth && refreshes < MOST && (!row_alive || row_uncertain) ->
#else
  :: atomic { row_owner == 0 && !row_reauth && refreshes < MOST && !row_alive ->
#endif
       row_owner = me; token = row_token; version = row_version; calling[me] = true; holding[me] = true }
     maybe_killed();                                                              /* [claimed] [before_send] [sent] */
     /* present */
     atomic { shown_again_alive = shown_again_alive || (token == shown && row_alive); shown = token }
     vendor(token, answer);
     maybe_killed();                                                              /* [in_flight] [answered] */
     atomic { calling[me] = false;
#ifdef SPOOL
       if :: answer != 0 -> spooled_token[me] = answer; spooled_version[me] = version :: else -> skip fi
#endif
     }
     maybe_killed();                                                              /* [spooled] [storing] */
     /* settle */
     if
#ifdef NO_RETRY
     :: answer != 0 -> skip
#endif
     :: answer != 0 ->
          store(answer, version, me);
          maybe_killed();                                                         /* [stored] */
#ifdef SPOOL
          spooled_token[me] = 0
#else
          skip
#endif
     :: answer == 0 -> refused(version, me)
     fi;
     holding[me] = false
  od
}

/* The database's clock. */
proctype clock() {
  do
  :: atomic { row_alive && refreshes < MOST -> row_alive = false }
#ifdef TTL_LOCK
  :: atomic { row_owner != 0 -> row_owner = 0; row_uncertain = true }
#else
#ifdef FROZEN
  :: atomic { row_owner != 0 && !calling[row_owner] -> row_owner = 0; row_uncertain = true }
#else
  :: atomic { row_owner != 0 && !holding[row_owner] -> row_owner = 0; row_uncertain = true }
#endif
#endif
  :: refreshes >= MOST || row_reauth -> break
  od
}

init { atomic { run broker(1); run broker(2); run clock() } }

ltl alive   { [] !vendor_dead }                   /* no spent token is ever shown to the vendor in earnest          */
ltl single  { [] !(calling[1] && calling[2]) }    /* never two calls at once                                        */
ltl honest  { [] !blamed }                        /* the owner is never blamed for our own loss                     */
ltl labelled { [] !unlabelled }                   /* a grant that died of a reuse is labelled lost_rotation         */
ltl patient { [] !shown_again_alive }             /* while the access token lives, nothing is shown twice           */
ltl stored  { [] (row_token <= vendor_valid) }
