-- A reversal is seen with its payment: by those who see the user, and by the payment's provider.
drop policy seen on usance.payment_reversals;
create policy seen on usance.payment_reversals for select
    to usance_application, usance_reader, usance_batch_writer
    using (usance.sees_user(usance.principal(), user_id) or exists (
        select from usance.payments p where p.payment_id = payment_reversals.payment_id));
